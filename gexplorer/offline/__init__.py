"""The offline model: a compiled program in one file, and the session that runs it."""
