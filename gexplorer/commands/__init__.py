"""The command line's commands by group, and what they share; ``cli`` puts them together."""
