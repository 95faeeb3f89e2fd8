"""The kinds of kernels that have tile programs; one file each, found by ``kernels/registry.py``."""
