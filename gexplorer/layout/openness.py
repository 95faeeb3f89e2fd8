"""Which containers are open when a picture is first seen: as much as can be read, never more than a screen takes.

Containers that look the same are open or closed together, so that they can share what is drawn. What was open in the
picture before stays open while there is room: pictures of neighbouring steps should differ by the step alone.
"""

from __future__ import annotations

from collections.abc import Callable

from gexplorer.layout.box import HEAD, INSET, NODE_HEIGHT
from gexplorer.layout.paths import is_stretch
from gexplorer.layout.rooms import Room

MOST_BOXES = 300
READABLE = 70
TALLEST = 2_400.0
"""What is opened by default may make a picture so high, in px: what is much higher than wide is a ribbon."""


def opened(root: Room, before: set[int], height: Callable[[Room], float]) -> tuple[set[int], set[int]]:
    """Chooses what is open.

    Args:
        root: the whole picture; it is always open.
        before: groups that were open in the picture before.
        height: of a container's picture while all in it is closed, in px.

    Returns:
        Groups that are open now, those that are not in this picture kept; and the looks of what is open.
    """
    looks: set[int] = set()
    groups = set(before)
    shown: dict[int, list[tuple[int, Room]]] = {}
    boxes, tall = _enter(root, 0, shown), height(root)
    while closed := {look: rooms for look, rooms in shown.items() if look not in looks}:
        look, rooms = min(closed.items(), key=lambda item: _urgency(*item[1][0], before))
        depth, one = rooms[0]
        more = len(one.boxes) * len(rooms)
        higher = (height(one) + HEAD + INSET - NODE_HEIGHT) * len(rooms)
        # The first repeated block is what the model is: it is opened even where that takes much room.
        first = one.count > 1 and not any(room.count > 1 for room in _open(shown, looks))
        if boxes + more <= (MOST_BOXES if first else READABLE) and (first or tall + higher <= TALLEST):
            looks.add(look)
            tall += higher
            for _, room in rooms:
                groups.add(room.group)
                boxes += _enter(room, depth + 1, shown)
        else:
            del shown[look]
            groups.discard(one.group)
    return groups, looks


def _urgency(depth: int, room: Room, before: set[int]) -> tuple[bool, bool, int, int, int, int]:
    """What was open comes first; then what has a name, outer ones, repeated blocks (they are the model), large ones."""
    return (room.group not in before, is_stretch(room.label), depth, -room.count, -room.nodes, room.group)


def _open(shown: dict[int, list[tuple[int, Room]]], looks: set[int]) -> list[Room]:
    return [rooms[0][1] for look, rooms in shown.items() if look in looks]


def _enter(room: Room, depth: int, shown: dict[int, list[tuple[int, Room]]]) -> int:
    """Adds the containers in a room to those that are shown, mere inputs apart; returns how many boxes the room has."""
    for box in room.boxes:
        if isinstance(box, Room) and box.nodes:
            shown.setdefault(box.look, []).append((depth, box))
    return len(room.boxes)
