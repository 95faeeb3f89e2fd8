"""Proving that what came out computes what went in."""
