"""The operators: what each becomes on the chip, what it costs at least, and what follows from its types."""
