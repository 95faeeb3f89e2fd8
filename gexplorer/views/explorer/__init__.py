"""The explorer's data: one file a part, each a pure function of a compilation and of the numbers of its nodes."""
