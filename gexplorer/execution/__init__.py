"""Programs that run: kernels in order, every tensor where the memory plan wants it."""
