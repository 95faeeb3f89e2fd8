"""Planners, one file each: the same problem in, offsets out. ``registry`` finds them."""
