"""Fusion: patterns as data, one matcher for all of them, rules as one file each."""
