"""What ``gexplorer why`` prints: misses by rule and reason, how they add up, the blockers that cost most, one node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from gexplorer.render.terminal import EXAMPLES, console, escape
from gexplorer.units import bytes_text, count_text, plural_text
from gexplorer.views.node_story import Outcome, Story
from gexplorer.views.why import INSIDE, Blocker, Miss, Tally

# Blockers shown.
BLOCKERS = 10
# Kinds of far misses shown before the rest is only counted.
KINDS = 8

_OUTCOMES: Mapping[Outcome, str] = {
    "rewritten": "[bold green]rewritten[/bold green]",
    "gone": "[bold green]gone[/bold green]",
    "near": "[yellow]nearly[/yellow]",
    "far": "[dim]not its pattern[/dim]",
    "blocks": "[yellow]stands in the way[/yellow]",
}


def print_why(
    misses: Sequence[Miss], tallies: Sequence[Tally], blockers: Sequence[Blocker] = (), *, every: bool = False
) -> None:
    """Misses by rule and kind of reason, with examples and cure; then the costliest blockers.

    Args:
        misses: to be shown; the far ones too where ``every`` is wanted.
        tallies: how the places of the rules add up that are to be shown.
        blockers: most bytes first.
        every: each place is shown, not only examples.
    """
    out = console()
    rules = dict.fromkeys((*(tally.rule for tally in tallies), *(miss.rule for miss in misses)))
    if not rules:
        out.print("No near misses: no rule found its last operator and failed behind it.")
    tally_of = {tally.rule: tally for tally in tallies}
    for rule in rules:
        own = [miss for miss in misses if miss.rule == rule]
        out.print(f"[bold]{escape(rule)}[/bold]")
        if rule in tally_of:
            out.print(Padding(_numbers(tally_of[rule]), (0, 0, 0, 2)))
        _print_near([miss for miss in own if miss.near], out, None if every else EXAMPLES)
        if rule in tally_of and not every:
            _print_kinds(tally_of[rule].kinds, out)
        _print_far([miss for miss in own if not miss.near], out)
    if blockers:
        _print_blockers(blockers, out)


def print_story(story: Story) -> None:
    """Everything that the rules have to say about a node: what came of it, then which patterns it does not fit."""
    out = console()
    out.print(f"[bold]{escape(story.name)}[/bold]" + (f" ({escape(story.op)})" if story.op else ""))
    for chapter in story.chapters:
        if chapter.outcome != "far":
            at = f" of {escape(chapter.at)}" if chapter.outcome == "blocks" else ""
            title = f"[bold]{escape(chapter.name)}[/bold]  {_OUTCOMES[chapter.outcome]}{at}"
            out.print(Padding(f"{chapter.step:3} {title}", (0, 0, 0, 2)))
            out.print(Padding(escape(chapter.reason), (0, 0, 0, 6)))
            if chapter.hint:
                out.print(Padding(f"[green]cure:[/green] {escape(chapter.hint)}", (0, 0, 0, 6)))
    far = [chapter for chapter in story.chapters if chapter.outcome == "far"]
    if far:
        out.print("  not their pattern")
    for chapter in far:
        out.print(Padding(f"[bold]{escape(chapter.name)}[/bold]: {escape(chapter.reason)}", (0, 0, 0, 6)))
    if not story.chapters:
        out.print("  No rule tried it, and it stands in the way of none.")
    if story.silent:
        out.print(f"  [dim]{plural_text(len(story.silent), 'rule')} for other operators ran while it was there[/dim]")


def _numbers(tally: Tally) -> str:
    if not tally.tried:
        return "tried no place: no node has an operator that its matches end in"
    fused, near, far = (count_text(count) for count in (tally.fused, tally.near, tally.far))
    if tally.inside is None:
        return f"tried {count_text(tally.tried)}: {fused} fused, {near} nearly, {far} others"
    inside = f", {count_text(tally.inside)} part of these" if tally.inside else ""
    rest = count_text(tally.far - tally.inside)
    return f"tried {count_text(tally.tried)}: {fused} fused{inside}, {near} nearly, {rest} not this pattern"


def _print_near(misses: Iterable[Miss], out: Console, most: int | None) -> None:
    groups: dict[str, list[Miss]] = {}
    for miss in misses:
        groups.setdefault(miss.code, []).append(miss)
    for code, same in groups.items():
        out.print(Padding(f"{code} x {count_text(len(same))}{_to_save(same)}", (0, 0, 0, 2)))
        for miss in same[:most]:
            out.print(Padding(escape(miss.reason), (0, 0, 0, 4)))
        if most is not None and len(same) > most:
            out.print(f"    [dim]... {count_text(len(same) - most)} more[/dim]")
        if same[0].hint:
            out.print(Padding(f"[green]cure:[/green] {escape(same[0].hint)}", (0, 0, 0, 4)))


def _to_save(same: Sequence[Miss]) -> str:
    """What curing misses of one kind would save, each blocker counted once; "" where no cure or size is known."""
    if not same[0].hint:
        return ""
    traffic = sum({m.blocker or m.node: m.traffic_bytes or 0 for m in same}.values())
    if not traffic:
        return ""
    words = f", could save up to {bytes_text(traffic)} of memory traffic"
    if any(m.saved_bytes is None for m in same):
        return words
    saved = sum({m.blocker or m.node: m.saved_bytes or 0 for m in same}.values())
    return words + (f", {bytes_text(int(saved))} of it HBM's" if saved > 0 else ", none of it HBM's (L2 holds it)")


def _print_kinds(kinds: Mapping[str, int], out: Console) -> None:
    if not kinds:
        return
    out.print("  not this pattern")
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    shown = list(kinds.items())[:KINDS]
    for kind, count in shown:
        table.add_row(count_text(count), escape(kind))
    out.print(Padding(table, (0, 0, 0, 4)))
    if len(kinds) > KINDS:
        rest = sum(kinds.values()) - sum(count for _, count in shown)
        out.print(f"    [dim]... {count_text(rest)} of {len(kinds) - KINDS} other kinds[/dim]")
    out.print("    [dim]--all lists each of them[/dim]")


def _print_far(misses: Iterable[Miss], out: Console) -> None:
    groups: dict[str, list[Miss]] = {}
    for miss in misses:
        groups.setdefault(miss.kind, []).append(miss)
    for kind, same in sorted(groups.items(), key=lambda group: -len(group[1])):
        title = escape(kind) if same[0].code == INSIDE else f"not this pattern: {escape(kind)}"
        out.print(Padding(f"{title} x {count_text(len(same))}", (0, 0, 0, 2)))
        for miss in same:
            out.print(Padding(escape(miss.reason), (0, 0, 0, 4)))


def _print_blockers(blockers: Sequence[Blocker], out: Console) -> None:
    out.print(
        "\n[bold]What costs most[/bold]: memory traffic, through L2 or HBM, that removing each could save at most"
    )
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column("could save", justify="right", no_wrap=True)
    table.add_column("blocker", overflow="fold")
    table.add_column("stands in the way of", overflow="fold")
    for blocker in blockers[:BLOCKERS]:
        label = f"{blocker.name} ({blocker.op})" if blocker.op else blocker.name
        table.add_row(bytes_text(blocker.freed_bytes), escape(label), escape(", ".join(blocker.rules)))
    out.print(table)
    if len(blockers) > BLOCKERS:
        out.print(f"[dim]... {count_text(len(blockers) - BLOCKERS)} more[/dim]")
