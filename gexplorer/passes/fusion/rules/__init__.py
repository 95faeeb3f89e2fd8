"""Fusion rules, one file each. A file dropped in here is found, run by its priority, listed and shown."""
