"""The graph, its types, its text form, its verifier and its export."""
