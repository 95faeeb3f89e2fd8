"""One file a bug; each is found by itself."""
