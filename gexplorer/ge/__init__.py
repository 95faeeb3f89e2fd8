"""The names that article A2 uses for GE, over gexplorer: its example runs with its imports changed.

    import gexplorer.ge as ge
    from gexplorer.ge import acl, session

These names are the article's. The real GE has others (``ge::Session``, ``aclmdl...``); what it says on the way is kept
in the article's words too. Nothing runs on an NPU: results come from the CPU.
"""

from __future__ import annotations

from gexplorer.ge import acl as acl
from gexplorer.ge import session as session
from gexplorer.ge.device import finalize as finalize
from gexplorer.ge.device import init as init
from gexplorer.ge.graph import Graph as Graph
from gexplorer.ge.graph import GraphOptions as GraphOptions
from gexplorer.ge.graph import build_graph as build_graph
from gexplorer.ge.graph import run as run

__all__ = ["Graph", "GraphOptions", "acl", "build_graph", "finalize", "init", "run", "session"]
