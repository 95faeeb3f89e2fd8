"""A compilation as one HTML file: the explorer, and the same in words for paper and for where no program runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

from gexplorer.output import write_file
from gexplorer.progress import Tell
from gexplorer.render.chart import sparkline
from gexplorer.render.document import document_of_failure
from gexplorer.render.html import h
from gexplorer.render.page import carried, page
from gexplorer.render.report_memory import memory_section
from gexplorer.render.report_steps import stages_table
from gexplorer.render.report_tables import model_section, operators_section
from gexplorer.render.variants import Carried, Wanted, carry
from gexplorer.units import bytes_text, change_text, count_text, percent_text, plural_text, shortened, time_text
from gexplorer.views.report import Figure, Report, failed_data, report_data

if TYPE_CHECKING:
    from gexplorer.compiler import Compilation
    from gexplorer.errors import PassError
    from gexplorer.frontends.onnx import SourceModel
    from gexplorer.options import Options

# Nodes that fall back to the host that the headline names, and letters of each.
NAMED, LETTERS = 3, 40


def write_report(
    compilation: Compilation, path: Path, *, variants: Wanted = "fitting", tell: Tell | None = None
) -> Path:
    """Writes the report of a compilation, whole or not at all.

    Args:
        compilation: what it is about.
        path: of the file.
        variants: which changes it can show by itself: ``fitting`` for as many as add 1 MB at most, ``none``, ``rules``
            for all, or a number of rules.
        tell: called with how far the work is.

    Returns:
        The path.

    Raises:
        OptionError: it cannot be written, or ``variants`` is no such thing.
    """
    whole = carry(compilation, variants, tell)
    write_file(path, report_page(report_data(compilation), whole))
    return path


def write_failure(error: PassError, source: SourceModel, options: Options, path: Path) -> Path:
    """Writes what can be shown of a compilation that a pass ended; returns the path."""
    made = document_of_failure(error, source, options)
    whole = Carried(carried(made.parts, made.parts), {}, (), ())
    write_file(path, report_page(failed_data(error, source, options), whole))
    return path


def report_page(data: Report, whole: Carried) -> str:
    """The page."""
    carries = {"parts": whole.parts, "variants": whole.variants}
    return page(
        f"{data.model.name} on {data.soc}: gexplorer", [words_of(data, _toggles(whole)), _footer(data)], carries
    )


def words_of(data: Report, toggles: Iterable[Element] = ()) -> Element:
    """The whole report in words."""
    return h(
        "main",
        headline(data),
        h("section", h("h2", "What happened"), stages_table(data), aria_label="What happened"),
        operators_section(data),
        memory_section(data.memory) if data.memory is not None else None,
        model_section(data.model),
        _repeat(data),
        toggles,
    )


def _toggles(whole: Carried) -> Iterator[Element]:
    """Which switches work in the file, and which would need another one."""
    if not whole.shown and not whole.left_out:
        return
    yield h("h2", "Switches in this file")
    if whole.shown:
        yield h("p", "One at a time can be changed in the explorer: ", _list([one.label for one in whole.shown]), ".")
    if whole.left_out:
        labels = _list([one.label for one in whole.left_out])
        yield h("p", "Left out to keep the file small (--variants rules takes all): ", labels, ".", class_="soft")


def _list(labels: Sequence[str]) -> str:
    return ", ".join(labels)


def headline(data: Report) -> Element:
    """What was compiled, and the figures."""
    model = data.model
    opsets = ", ".join(f"{domain} {number}" for domain, number in model.opsets)
    return h(
        "header",
        h("p", "gexplorer: what the graph compiler did", class_="kicker"),
        h("h1", model.name),
        h(
            "p",
            _fact("for", data.soc),
            _fact("opset", opsets),
            _fact("nodes in the file", count_text(model.nodes)),
            _fact("weights", bytes_text(model.weight_bytes)),
            [_fact(name, value) for name, value in data.options],
            class_="facts",
        ),
        _missing(model.missing),
        h("p", h("b", "The compilation came to no end. "), data.failure, class_="notice") if data.failure else None,
        h("dl", _figures(data), class_="figures"),
    )


def _fact(label: str, value: str) -> Element:
    return h("span", f"{label} ", h("b", value))


def _missing(names: tuple[str, ...]) -> Element | None:
    if not names:
        return None
    shown = ", ".join(names[:5]) + (f" and {count_text(len(names) - 5)} more" if len(names) > 5 else "")
    said = " not found: compiled all the same, without the weights; what needs their bytes is skipped."
    return h("p", h("b", "Weights not available. "), h("span", shown, class_="name"), said, class_="notice")


def _figures(data: Report) -> Iterator[Element]:
    for figure in data.figures:
        yield _changed_figure(figure)
    if data.latency_us is not None and data.hbm_bytes is not None:
        error = f"±{percent_text(data.error)} where kernels like these were measured" if data.error else ""
        yield _figure(
            "Latency, modelled", time_text(data.latency_us / 1e6), note=error or "no such kernel was measured"
        )
        yield _figure("HBM traffic, modelled", bytes_text(data.hbm_bytes), note="to and from, of all kernels")
    rewrites = sum(step.rewrites for step in data.steps)
    rejects = sum(step.rejects for step in data.steps)
    acted = sum(step.rewrites > 0 for step in data.steps)
    yield _figure(
        "Rewrites",
        count_text(rewrites),
        note=f"by {plural_text(acted, 'pass', 'passes')}" if acted else "nothing was found to improve",
    )
    yield _figure("Near misses", count_text(rejects), note="places looked at and left alone, with the reason")
    if data.fallbacks:
        shown = ", ".join(shortened(place, LETTERS) for place in data.fallbacks[:NAMED])
        shown += ", …" if len(data.fallbacks) > NAMED else ""
        note = f"no kernel on the chip: each copies its tensors to the host and back: {shown}"
        yield _figure("Host fallbacks", count_text(len(data.fallbacks)), note=note, class_="bad")
    stages = ", ".join(f"{stage.name} {time_text(stage.seconds)}" for stage in data.stages if stage.steps)
    verified = "; every step run and equal to the model as read" if data.verified else ""
    yield _figure("Compile time", time_text(data.seconds), note=stages + verified)


def _changed_figure(figure: Figure) -> Element:
    show = bytes_text if figure.unit == "bytes" else count_text
    same = show(figure.before) == show(figure.after)
    delta = "unchanged" if same else change_text(figure.before, figure.after)
    tone = "soft" if same else "better" if figure.after < figure.before else "worse"
    return h(
        "div",
        h("dt", figure.label),
        h("dd", show(figure.after), class_="big"),
        h("dd", h("b", delta, class_=tone), None if same else f" from {show(figure.before)}", class_="delta"),
        h("dd", figure.note, class_="note"),
        h("dd", sparkline(figure.trend, f"{figure.label} after each step")) if len(figure.trend) > 1 else None,
        class_="figure card",
    )


def _figure(label: str, value: str, note: str, class_: str = "") -> Element:
    return h(
        "div",
        h("dt", label),
        h("dd", value, class_=f"big {class_}".strip()),
        h("dd", note, class_="note"),
        class_="figure card",
    )


def _repeat(data: Report) -> Element:
    return h(
        "section",
        h("h2", "Repeat it"),
        h(
            "div",
            _code("On the command line", data.command),
            _code("In Python", data.python),
            class_="columns",
        ),
        aria_label="How to repeat it",
    )


def _code(title: str, code: str) -> Element:
    return h("div", h("h3", title), h("pre", h("code", code)), class_="card")


def _footer(data: Report) -> Element:
    version = f" {data.version}" if data.version else ""
    return h("footer", f"Made by gexplorer{version}. This file is complete: it loads nothing and sends nothing.")
