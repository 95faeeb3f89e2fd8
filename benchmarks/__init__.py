"""What is fast, measured, with peers beside it: ``make bench``."""
