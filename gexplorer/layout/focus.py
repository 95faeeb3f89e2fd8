"""A small picture around one rewrite: what it touched, and what stands a few steps from that."""

from __future__ import annotations

import numpy as np

from gexplorer.ir.draft import changed_nodes
from gexplorer.layout.flow import Atlas, Flow
from gexplorer.layout.layered import MOST_USERS
from gexplorer.layout.openness import MOST_BOXES
from gexplorer.layout.paths import Paths
from gexplorer.layout.placement import Ints
from gexplorer.layout.rooms import Rooms
from gexplorer.layout.scenes import Scenes
from gexplorer.layout.union import united
from gexplorer.trace.records import Step
from gexplorer.views.explorer.numbering import Numbering


def focus(step: Step, rewrite: int, numbering: Numbering, hops: int = 2) -> dict[str, object]:
    """The surroundings of one rewrite, before and after it, as a part ``scenes`` with one picture and no containers.

    Values with very many users are not walked through, and the walk ends before the picture is too large; what is left
    out shows as stubs.

    Args:
        step: of the rewrite.
        rewrite: its number in the step.
        numbering: of the trace.
        hops: how many edges away from what was touched.
    """
    record = step.rewrites[rewrite]
    atlas = Atlas(Paths(None), numbering)
    before, after = (atlas.flow(step.graph_after(done)) for done in (rewrite, rewrite + 1))
    inside: tuple[str, ...] = ()
    for place in record.path:
        name = place.attribute if place.index < 0 else f"{place.attribute}[{place.index}]"
        inside = (*inside, place.node, name)
    names = [(old or new).name for old, new in changed_nodes(record.changes)]  # pyright: ignore[reportOptionalMemberAccess]
    touched = np.array(sorted({atlas.identity(name, inside) for name in (*names, record.node)} - {-1}), dtype=np.int64)
    chosen = touched
    edges = np.concatenate([_drawn_through(flow) for flow in (before, after)])
    for _ in range(hops):
        near = edges[np.isin(edges[:, 0], chosen) | np.isin(edges[:, 1], chosen), :2]
        more = np.unique(np.concatenate([chosen, near.reshape(-1)]))
        if len(more) > MOST_BOXES:
            break
        chosen = more
    scenes = Scenes(numbering, atlas, Rooms(atlas))
    scenes.picture(united(atlas, before, after, chosen), step.index)
    return scenes.part()


def _drawn_through(flow: Flow) -> Ints:
    """Edges, those of values with very many users left out."""
    if not len(flow.edges):
        return flow.edges[:, :2]
    users = np.bincount(flow.edges[:, 2])[flow.edges[:, 2]]
    return flow.edges[users <= MOST_USERS][:, :2]
