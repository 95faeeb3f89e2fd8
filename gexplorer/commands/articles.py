"""The command that puts the source articles' claims beside what is computed."""

from __future__ import annotations

import click

from gexplorer.commands.flags import SETTINGS
from gexplorer.commands.results import require_targets, write_json
from gexplorer.errors import OptionError


@click.command(context_settings=SETTINGS)
@click.option("--row", "rows", multiple=True, type=int, metavar="N", help="Only this row; may be given again.")
@click.option("--json", "json_to", metavar="FILE|-", help="Write the rows as JSON; - for standard output.")
def articles(rows: tuple[int, ...], json_to: str | None) -> None:
    """Compute what the source articles claim, and show both."""
    require_targets(json_to)
    from gexplorer.articles.row import all_rows

    known = {row.row: row for row in all_rows()}
    if missing := sorted({*rows} - {*known}):
        raise OptionError(f"no row {missing[0]}; there are: {', '.join(map(str, known))}")
    computed = [known[number]().as_dict() for number in rows or known]
    if json_to is not None:
        write_json(computed, json_to)
        return
    from gexplorer.render.terminal_articles import print_articles

    print_articles(computed)
