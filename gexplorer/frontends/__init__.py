"""Where models come from: one file a source, each gives a graph."""
