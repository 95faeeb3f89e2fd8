"""``python -m gexplorer``: the command line."""

from gexplorer.cli import main

main()
