"""``gexplorer``, ``python -m gexplorer``: the command line, quiet also where it is interrupted while it is loaded."""

from __future__ import annotations

import sys


def main() -> None:
    """The ``gexplorer`` command."""
    try:
        from gexplorer.cli import main as run  # takes a while, in which somebody may think better of it

        run()
    except KeyboardInterrupt:
        sys.stderr.write("gexplorer: interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
