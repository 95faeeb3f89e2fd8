"""The commands about compiled parts that are kept: compile into the cache, list it, clear it."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gexplorer.commands.flags import SETTINGS, compile_options, wanted_options
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError
from gexplorer.progress import watched

if TYPE_CHECKING:
    from gexplorer.cache.store import Store

_folder_option = click.option(
    "--folder", type=click.Path(path_type=Path), help="The cache's folder; $GEXPLORER_CACHE, or the user's caches."
)
_size_option = click.option("--max-bytes", "max_bytes", metavar="SIZE", help="What it may hold, such as 10G (default).")


@click.command(context_settings=SETTINGS)
@click.option("--clear", is_flag=True, help="Throw everything away.")
@_folder_option
@_size_option
@click.option("--json", "json_to", metavar="FILE|-", help="Write the list as JSON.")
def cache(clear: bool, folder: Path | None, max_bytes: str | None, json_to: str | None) -> None:
    """List the parts that are kept on disk, or throw them away."""
    require_targets(json_to)
    store = _store(folder, max_bytes)
    gone = store.clear() if clear else store.trim() if max_bytes is not None else 0
    from gexplorer.views.cache import entry_rows

    rows = entry_rows(store)
    if json_to is not None:
        write_json({"folder": str(store.folder), "max_bytes": store.max_bytes, "gone": gone, "entries": rows}, json_to)
        return
    from gexplorer.render.terminal_cache import print_cache

    print_cache(store, rows, gone)


@click.command(context_settings=SETTINGS)
@compile_options
@click.option("--part", "scopes", multiple=True, metavar="MODULE", help="Compile one module, such as model.encoder.")
@click.option("--cut", "cuts", multiple=True, metavar="TENSOR", help="Cut the model at a tensor.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A folder to copy the offline models to.")
@_folder_option
@_size_option
@click.option("--json", "json_to", metavar="FILE|-", help="Write what was compiled and what was found as JSON.")
def parts(
    scopes: tuple[str, ...],
    cuts: tuple[str, ...],
    output: Path | None,
    folder: Path | None,
    max_bytes: str | None,
    json_to: str | None,
    model: str,
    **common: Any,
) -> None:
    """Compile a model in parts, and keep them on disk.

    The parts are the whole model, its modules, or what lies between tensors; each becomes an offline model in the
    cache, and is found there the next time.
    """
    require_targets(json_to)
    store = _store(folder, max_bytes)
    if output is not None and not output.is_dir():
        raise OptionError(f"{output}: there is no such folder")
    from gexplorer.cache.compiled import compile_parts
    from gexplorer.compiler import options_from
    from gexplorer.frontends.load import load

    options = options_from(wanted_options(**common))
    with watched() as tell:
        made = compile_parts(load(model), options, store, scopes=scopes, cuts=cuts, tell=tell)
    copies = [_copied(part.path, output / _file_name(part.name)) for part in made] if output is not None else []
    if json_to is not None:
        write_json({"parts": [{**asdict(part), "path": str(part.path)} for part in made]}, json_to)
        return
    from gexplorer.render.terminal_cache import print_parts

    print_parts(made, copies)


def _copied(path: Path, target: Path) -> Path:
    """A copy that is whole, or not there."""
    from gexplorer.output import whole_file

    with path.open("rb") as source, whole_file(target) as file:
        shutil.copyfileobj(source, file)
    return target


def _file_name(part: str) -> str:
    """A name that a file can have, with the part's own name in it."""
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in part)[-100:] + ".om"


def _store(folder: Path | None, max_bytes: str | None) -> Store:
    from gexplorer.cache.store import DEFAULT_MAX_BYTES, Store, default_folder
    from gexplorer.options import parse_bytes

    try:
        size = DEFAULT_MAX_BYTES if max_bytes is None else parse_bytes(max_bytes)
    except ValueError:
        raise OptionError(f"--max-bytes: {max_bytes!r} is no number of bytes") from None
    if folder is not None and folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder}: not a folder")
    return Store(folder or default_folder(), size)
