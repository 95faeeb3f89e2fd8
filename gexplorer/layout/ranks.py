"""Ranks of a layered layout: every edge points downwards, and nodes stand close to what they feed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gexplorer.layout.placement import Bools, Ints


def neighbour_lists(count: int, source: Ints, target: Ints) -> list[list[int]]:
    """Targets by source, in the order of the edges."""
    by_source = np.argsort(source, kind="stable")
    ends = np.cumsum(np.bincount(source, minlength=count)).tolist()
    targets = target[by_source].tolist()
    lists: list[list[int]] = []
    start = 0
    for end in ends:
        lists.append(targets[start:end])
        start = end
    return lists


def downwards(count: int, tails: Ints, heads: Ints) -> tuple[Ints, Ints, list[int]]:
    """Turns edges round until there is no cycle.

    Nodes are taken as their predecessors are done, by number; where all that are left wait for each other, the one
    of the lowest number is taken as it is, and its edges from nodes not yet taken are turned round.

    Returns:
        Tails and heads of the same edges without a cycle, and the order in which the nodes were taken.
    """
    followers = neighbour_lists(count, tails, heads)
    waiting: list[int] = np.bincount(heads, minlength=count).tolist()
    order = [node for node in range(count) if not waiting[node]]
    taken = bytearray(count)
    lowest = done = 0
    while True:
        while done < len(order):
            node = order[done]
            done += 1
            taken[node] = 1
            for follower in followers[node]:
                waiting[follower] -= 1
                if not waiting[follower] and not taken[follower]:
                    order.append(follower)
        while lowest < count and taken[lowest]:
            lowest += 1
        if lowest == count:
            break
        waiting[lowest] = -1  # never nought again: it is taken now
        order.append(lowest)
    place = np.empty(count, dtype=np.int64)
    place[np.array(order, dtype=np.int64)] = np.arange(count)
    turned = place[tails] > place[heads]
    return np.where(turned, heads, tails), np.where(turned, tails, heads), order


def ranks(count: int, tails: Ints, heads: Ints, order: Sequence[int], loose: Ints, on_top: Bools | None = None) -> Ints:
    """Ranks by longest path; then what feeds at least as much as it is fed moves down to its users.

    Args:
        count: number of nodes.
        tails: of the edges, without a cycle.
        heads: of the edges.
        order: the nodes, every tail before its heads.
        loose: 1 for edges that count for the longest path but pull nothing near.
        on_top: nodes that do not move down.

    Returns:
        The rank of each node; from 0, without gaps.
    """
    followers = neighbour_lists(count, tails, heads)
    rank = [0] * count
    for node in order:
        below = rank[node] + 1
        for follower in followers[node]:
            if rank[follower] < below:
                rank[follower] = below
    tight = loose == 0
    pulls_down: list[int] = np.bincount(tails[tight], minlength=count).tolist()
    pulls_up: list[int] = np.bincount(heads[tight], minlength=count).tolist()
    if on_top is not None:
        for node in np.flatnonzero(on_top).tolist():
            pulls_up[node] = count + len(tails)
    for node in reversed(order):
        if followers[node] and pulls_down[node] >= pulls_up[node]:
            rank[node] = min([rank[follower] for follower in followers[node]]) - 1
    found = np.array(rank, dtype=np.int64)
    return (np.cumsum(np.bincount(found) > 0) - 1)[found] if count else found
