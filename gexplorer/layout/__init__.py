"""Where things stand in a picture of a graph: layered layout, grouping into containers, scenes of a compilation."""
