"""The command that opens JupyterLab on the notebooks."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import click

from gexplorer.commands.flags import SETTINGS
from gexplorer.errors import OptionError
from gexplorer.output import write_file

FIRST = "01_tour.ipynb"
MISSING = "JupyterLab is not installed: pip install 'gexplorer[lab]'"


@click.command(context_settings={**SETTINGS, "ignore_unknown_options": True})
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("gexplorer-notebooks"),
    show_default=True,
    help="Where the notebooks are copied to; what is there already stays as it is.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab(folder: Path, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on the notebooks, the tour first. ARGUMENTS are JupyterLab's own, such as --no-browser."""
    if importlib.util.find_spec("jupyterlab") is None:
        raise OptionError(MISSING)
    copied = copy_notebooks(folder)
    if copied:
        click.echo(f"{folder}: {', '.join(copied)}", err=True)
    # As its default page and not as a file to open: so the address that it prints, for --no-browser, is the tour's too.
    tour = f"--LabApp.default_url=/lab/tree/{FIRST}"
    command = [sys.executable, "-m", "jupyterlab", str(folder), tour, *arguments]
    os.execv(command[0], command)


def copy_notebooks(folder: Path) -> list[str]:
    """Copies those notebooks that are not there yet; returns their names.

    Raises:
        OptionError: the folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        missing = [path for path in sorted(notebooks().glob("*.ipynb")) if not (folder / path.name).exists()]
        for path in missing:
            write_file(folder / path.name, path.read_bytes())
    except OSError as error:
        raise OptionError(f"{folder}: cannot write: {error.strerror}") from None
    return [path.name for path in missing]


def notebooks() -> Path:
    """The folder of the notebooks: inside the package where it is installed, beside it in a working copy."""
    package = Path(__file__).parent.parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / FIRST).exists():
            return folder
    raise OptionError(f"{package}: no notebooks are packed with it; install gexplorer again")
