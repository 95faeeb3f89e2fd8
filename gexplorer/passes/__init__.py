"""Passes, one file each. A file dropped in here is found, run in its order, listed and shown."""
