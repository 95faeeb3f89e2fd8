"""What a kernel costs: bytes by level, time by pipe. Pure functions of (work, tile, chip), arrays over tiles."""
