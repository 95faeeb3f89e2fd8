"""The kernel level: tile programs, an interpreter that counts every byte, generators, the tile search."""
