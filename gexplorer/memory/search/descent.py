"""The decision search at one capacity: can all buffers be placed below it? Compiled.

Ideas, after minimalloc (Moffitt, ASPLOS 2023, doi 10.1145/3623278.3624752), and job-shop scheduling:

* A plan in which no buffer can be lowered is *canonical*: every buffer lies at 0 or on the top of another one. If any
  plan exists then a canonical one does. Buffers are placed from the bottom up, each on what lies below it already.
* ``base`` is how high a buffer lies if it is placed now; ``head`` is a bound on how high it must lie in what is left
  of the search: nothing goes below what was placed last; once a buffer failed at its base, later branches may not
  leave it there; who may not lie at its base lies on the top of one that is still to come.
* A section is a machine, its buffers are jobs, heads are release dates: one after the other, in the order of their
  heads, they must end below the capacity. The section in which they do not is to blame, and is remembered.
* A buffer that would leave room for another one below it is not placed yet (that other one could be lowered).
* When the buffers to come fall into groups that share no section, each group is a search of its own, the smallest
  first: if one fails, what was placed last is at fault.
* A state that failed is remembered by a 128-bit hash of (buffer, base, head) for all buffers to come.

Imports numba, which takes 0.3 s: import this module where it is needed, not at the top. All in one file, since numba's
cache of compiled code notices a change in the caller's file alone.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numpy.typing import NDArray

from gexplorer.memory.search.tables import Tables

Ints = NDArray[np.int64]
Rows = NDArray[np.int32]

IMPOSSIBLE, FOUND, GAVE_UP = 0, 1, 2
FAR = np.int64(1) << 62

# A node counts once, and once more for each so many (buffer, section) cells that it looks at: some 1.2 us each.
NODE_BASE = 2
NODE_CELLS = 500

# Columns of a frame: the choice of the next buffer of one group.
PARENT = 0  # the frame whose choice left this group
BEGIN = 1  # its buffers: members[BEGIN:END]
END = 2
FROM = 3  # its sections
TO = 4
CHOICES = 5  # its candidates: choices[CHOICES:CHOICES + COUNT]
COUNT = 6
CHOICE = 7  # the one being tried
GROUPS = 8  # groups left by it: groups[GROUPS:GROUPS + GROUP_COUNT]
GROUP_COUNT = 9
GROUP = 10  # the one being searched
MEMBERS_TOP = 11  # how full the stacks were before a choice was made
HEADS_TOP = 12
BASES_TOP = 13
COLUMNS = 14


@nb.njit(cache=True)
def _raise_heads(
    t: Tables,
    members: Rows,
    begin: int,
    end: int,
    floor: int,
    capacity: int,
    start: int,
    stop: int,
    base: Ints,
    head: Ints,
    placed: NDArray[np.bool_],
    stamp: Ints,
    node: int,
    old_heads: Ints,
    heads_top: int,
    tops: Ints,
    blame: NDArray[np.float64],
) -> tuple[bool, int]:
    """Raises the heads of a group as far as simple reasons go, and sorts its members by them.

    Returns:
        Whether all may still fit, and how full ``old_heads`` is: pairs (buffer, head before this node).
    """
    for s in range(start, stop):
        tops[s] = FAR
    for k in range(begin, end):
        b = members[k]
        x = max(max(head[b], base[b]), floor)
        twin = t.twin[b]
        if twin >= 0 and not placed[twin]:
            x = max(x, head[twin] + t.size[b])
        if x > head[b]:
            if stamp[b] != node:
                stamp[b] = node
                old_heads[heads_top, 0] = b
                old_heads[heads_top, 1] = head[b]
                heads_top += 1
            head[b] = x
        x += t.size[b]
        for s in range(t.lower[b], t.upper[b]):
            tops[s] = min(tops[s], x)
    for k in range(begin, end):
        b = members[k]
        if head[b] > base[b]:
            x = FAR
            for s in range(t.lower[b], t.upper[b]):
                x = min(x, tops[s])
            if x > head[b]:
                if stamp[b] != node:
                    stamp[b] = node
                    old_heads[heads_top, 0] = b
                    old_heads[heads_top, 1] = head[b]
                    heads_top += 1
                head[b] = x
    for k in range(begin + 1, end):
        b = members[k]
        x = head[b]
        j = k - 1
        while j >= begin and head[members[j]] > x:
            members[j + 1] = members[j]
            j -= 1
        members[j + 1] = b
    for s in range(start, stop):
        tops[s] = 0
    for k in range(begin, end):
        b = members[k]
        x = head[b]
        size = t.size[b]
        for s in range(t.lower[b], t.upper[b]):
            tops[s] = max(tops[s], x) + size
    highest = np.int64(0)
    where = start
    for s in range(start, stop):
        if tops[s] > highest:
            highest = tops[s]
            where = s
    if highest > capacity:
        blame[where] += 1.0
        return False, heads_top
    return True, heads_top


@nb.njit(cache=True)
def _candidates(
    t: Tables,
    members: Rows,
    begin: int,
    end: int,
    base: Ints,
    head: Ints,
    placed: NDArray[np.bool_],
    rank: Ints,
    choices: Rows,
    top: int,
) -> int:
    """Lists who may be placed next, the lowest first, of equal ones the first in rank; returns how many.

    Whoever lies so high that another one would fit below it has to wait.
    """
    room = FAR
    for k in range(begin, end):
        b = members[k]
        room = min(room, base[b] + t.size[b])
    count = 0
    for k in range(begin, end):
        b = members[k]
        if head[b] >= room:
            break
        twin = t.twin[b]
        if head[b] != base[b] or (twin >= 0 and not placed[twin]):
            continue
        j = top + count
        while j > top and head[choices[j - 1]] == head[b] and rank[choices[j - 1]] > rank[b]:
            choices[j] = choices[j - 1]
            j -= 1
        choices[j] = b
        count += 1
    return count


@nb.njit(cache=True)
def _part(
    t: Tables, members: Rows, begin: int, end: int, start: int, stop: int, reach: Ints, groups: Ints, top: int
) -> tuple[int, int]:
    """Parts buffers into groups that share no section, the smallest first.

    Returns:
        The number of groups (rows of ``groups`` from ``top`` on: begin, end, start, stop) and the new end of
        ``members``, where the groups lie if there are several.
    """
    for s in range(start, stop):
        reach[s] = 0
    for k in range(begin, end):
        b = members[k]
        reach[t.lower[b]] = max(reach[t.lower[b]], t.upper[b])
    count = 0
    s = start
    while s < stop:
        if reach[s] == 0:
            s += 1
            continue
        groups[top + count, 2] = s
        until = reach[s]
        while s < until:
            until = max(until, reach[s])
            reach[s] = count  # from now on: the group of a section
            s += 1
        groups[top + count, 3] = until
        count += 1
    if count == 1:
        groups[top, 0] = begin
        groups[top, 1] = end
        return 1, end
    for g in range(top, top + count):
        groups[g, 1] = 0
    for k in range(begin, end):
        groups[top + reach[t.lower[members[k]]], 1] += 1
    filled = end
    for g in range(top, top + count):
        size = groups[g, 1]
        groups[g, 0] = filled
        groups[g, 1] = filled
        filled += size
    for k in range(begin, end):
        g = top + reach[t.lower[members[k]]]
        members[groups[g, 1]] = members[k]
        groups[g, 1] += 1
    for g in range(top + 1, top + count):
        j = g
        while j > top and groups[j - 1, 1] - groups[j - 1, 0] > groups[j, 1] - groups[j, 0]:
            for column in range(4):
                groups[j - 1, column], groups[j, column] = groups[j, column], groups[j - 1, column]
            j -= 1
    return count, filled


@nb.njit(cache=True)
def _hash(members: Rows, begin: int, end: int, base: Ints, head: Ints, capacity: int) -> tuple[np.uint64, np.uint64]:
    """128 bits for the state of a group: sums, so the order of the buffers does not matter."""
    one = np.uint64(capacity)
    two = np.uint64(capacity)
    for k in range(begin, end):
        b = members[k]
        x = np.uint64(b + 1) * np.uint64(0x9E3779B97F4A7C15)
        x ^= np.uint64(base[b] + 1) * np.uint64(0xC2B2AE3D27D4EB4F)
        x ^= np.uint64(head[b] + 7) * np.uint64(0x165667B19E3779F9)
        x ^= x >> np.uint64(29)
        x *= np.uint64(0xBF58476D1CE4E5B9)
        x ^= x >> np.uint64(32)
        one += x
        x *= np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
        two += x
    return one, two


@nb.njit(cache=True)
def descend(
    t: Tables,
    capacity: int,
    rank: Ints,
    most_nodes: int,
    most_spent: int,
    failed: NDArray[np.uint64],
    blame: NDArray[np.float64],
    offsets: Ints,
) -> tuple[int, int, int]:
    """Depth first, until a plan is found, nothing is left, or the nodes are spent.

    Args:
        t: the problem.
        capacity: units that the pool may have.
        rank: [n] who goes first where several could be placed at the same height.
        most_nodes: placements to try.
        most_spent: what they may count for.
        failed: [2^k, 2] hashes of states that failed, kept between calls.
        blame: [sections] how often a section overflowed; added to.
        offsets: [n] where the plan is written.

    Returns:
        ``FOUND``, ``IMPOSSIBLE`` (a proof) or ``GAVE_UP``; placements tried; what they count for.
    """
    n = len(t.size)
    sections = len(t.load)
    base = np.zeros(n, np.int64)
    head = np.zeros(n, np.int64)
    placed = np.zeros(n, np.bool_)
    stamp = np.zeros(n, np.int64)
    tops = np.empty(sections, np.int64)
    reach = np.empty(sections, np.int64)
    members = np.empty(n * (n + 3), np.int32)
    choices = np.empty(n * (n + 3) // 2 + n, np.int32)
    groups = np.empty((2 * n + 2, 4), np.int64)
    old_heads = np.empty((n * (n + 3) // 2 + n, 2), np.int64)
    old_bases = np.empty((min(len(t.others), n * (n + 3) // 2) + n, 2), np.int64)
    frames = np.empty((n + 2, COLUMNS), np.int64)
    keys = np.empty((n + 2, 2), np.uint64)
    mask = np.uint64(len(failed) - 1)
    nodes = 0
    spent = 0

    for b in range(n):
        members[rank[b]] = b
    fits, heads_top = _raise_heads(
        t, members, 0, n, 0, capacity, 0, sections, base, head, placed, stamp, 1, old_heads, 0, tops, blame
    )
    if not fits:
        return IMPOSSIBLE, nodes, spent
    bases_top = 0
    members_top = n
    choices_top = 0
    f = 0
    frames[0, PARENT] = -1
    frames[0, BEGIN] = 0
    frames[0, END] = n
    frames[0, FROM] = 0
    frames[0, TO] = sections
    fresh = True
    groups_top = 0
    while True:
        begin = frames[f, BEGIN]
        end = frames[f, END]
        start = frames[f, FROM]
        stop = frames[f, TO]
        if fresh:
            fresh = False
            one, two = _hash(members, begin, end, base, head, capacity)
            keys[f, 0] = one
            keys[f, 1] = two
            frames[f, CHOICES] = choices_top
            frames[f, CHOICE] = 0
            if failed[one & mask, 0] == one and failed[one & mask, 1] == two:
                frames[f, COUNT] = 0
            else:
                frames[f, COUNT] = _candidates(t, members, begin, end, base, head, placed, rank, choices, choices_top)
            choices_top += frames[f, COUNT]
            frames[f, GROUPS] = groups_top
            frames[f, MEMBERS_TOP] = members_top
            frames[f, HEADS_TOP] = heads_top
            frames[f, BASES_TOP] = bases_top
        chosen = frames[f, CHOICES] + frames[f, CHOICE]
        fits = frames[f, CHOICE] < frames[f, COUNT]
        if not fits:
            # Every choice failed, so this group cannot be placed: the choice that left it fails, too.
            slot = keys[f, 0] & mask
            failed[slot, 0] = keys[f, 0]
            failed[slot, 1] = keys[f, 1]
            f = frames[f, PARENT]
            if f < 0:
                return IMPOSSIBLE, nodes, spent
        else:
            if nodes >= most_nodes or spent >= most_spent:
                return GAVE_UP, nodes, spent
            nodes += 1
            node = nodes + 1
            b = choices[chosen]
            floor = base[b]
            # Those tried here before, none of which lies higher, may not stay where they failed.
            for k in range(frames[f, CHOICES], chosen):
                c = choices[k]
                if head[c] == base[c]:
                    stamp[c] = node
                    old_heads[heads_top, 0] = c
                    old_heads[heads_top, 1] = head[c]
                    heads_top += 1
                    head[c] = base[c] + 1
            placed[b] = True
            offsets[b] = floor
            top = floor + t.size[b]
            for k in range(t.first[b], t.first[b + 1]):
                c = t.others[k]
                if not placed[c] and base[c] < top:
                    old_bases[bases_top, 0] = c
                    old_bases[bases_top, 1] = base[c]
                    bases_top += 1
                    base[c] = top
            left = members_top
            cells = 0
            for k in range(begin, end):
                if members[k] != b:
                    members[left] = members[k]
                    left += 1
                    cells += t.upper[members[k]] - t.lower[members[k]]
            spent += NODE_BASE + (cells + 8 * (end - begin)) // NODE_CELLS
            if left > members_top:
                fits, heads_top = _raise_heads(
                    t,
                    members,
                    members_top,
                    left,
                    floor,
                    capacity,
                    start,
                    stop,
                    base,
                    head,
                    placed,
                    stamp,
                    node,
                    old_heads,
                    heads_top,
                    tops,
                    blame,
                )
            if fits:
                if left > members_top:
                    count, members_top = _part(t, members, members_top, left, start, stop, reach, groups, groups_top)
                    frames[f, GROUP_COUNT] = count
                    frames[f, GROUP] = 0
                    groups_top += count
                    parent = f
                else:
                    # This group is done; so is each one above it whose choice left no other group.
                    parent = frames[f, PARENT]
                    while parent >= 0:
                        frames[parent, GROUP] += 1
                        if frames[parent, GROUP] < frames[parent, GROUP_COUNT]:
                            break
                        parent = frames[parent, PARENT]
                    if parent < 0:
                        return FOUND, nodes, spent
                g = frames[parent, GROUPS] + frames[parent, GROUP]
                f += 1
                frames[f, PARENT] = parent
                frames[f, BEGIN] = groups[g, 0]
                frames[f, END] = groups[g, 1]
                frames[f, FROM] = groups[g, 2]
                frames[f, TO] = groups[g, 3]
                fresh = True
                continue
        # The choice of frame f failed: take back all that came after it and go on to its next one.
        for k in range(frames[f, BEGIN], frames[f, END]):
            placed[members[k]] = False
        while heads_top > frames[f, HEADS_TOP]:
            heads_top -= 1
            head[old_heads[heads_top, 0]] = old_heads[heads_top, 1]
        while bases_top > frames[f, BASES_TOP]:
            bases_top -= 1
            base[old_bases[bases_top, 0]] = old_bases[bases_top, 1]
        members_top = frames[f, MEMBERS_TOP]
        groups_top = frames[f, GROUPS]
        choices_top = frames[f, CHOICES] + frames[f, COUNT]
        frames[f, CHOICE] += 1
