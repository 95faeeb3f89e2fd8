"""Steps in words: a table of all, each opening to what it did and nearly did; and one alone, with pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from xml.etree.ElementTree import Element

from gexplorer.render.chart import bar
from gexplorer.render.html import Child, h
from gexplorer.render.picture import SIGNS, draw
from gexplorer.units import count_text, plural_text, time_text
from gexplorer.views.groups import Example, Group
from gexplorer.views.region import Picture
from gexplorer.views.report import Report, StepReport

Drawn = dict[int, Element]

# Sentences of one kind before the rest is only counted.
MOST_SENTENCES = 3


def stages_table(data: Report) -> Element:
    """All stages in order, with their steps, in words; pictures are the explorer's."""
    slowest = max((step.seconds for step in data.steps), default=0.0)
    built = [stage for stage in data.stages if stage.steps]
    return h(
        "div",
        _heads(),
        [_stage(stage.name, stage.seconds, data.steps, slowest) for stage in built],
        _waiting(data),
        class_="steps card",
    )


def step_section(step: StepReport) -> Element:
    """One step: what it does and did, what it nearly did, and its examples drawn before and after."""
    pictures = [picture for one in step.groups.examples for picture in (one.region.before, one.region.after)]
    drawn = {id(picture): svg for picture, svg in zip(pictures, draw(pictures), strict=True)}
    return h(
        "section",
        h("div", _body(step), class_="body") if step.summary or not step.quiet else None,
        h("p", "It found nothing to do, and nothing that it nearly did.", class_="soft") if step.quiet else None,
        _legend() if pictures else None,
        [_example(example, drawn) for example in step.groups.examples],
        aria_label=step.name,
    )


def _legend() -> Element:
    meanings = {"removed": "removed", "added": "added", "changed": "changed", "kept": "unchanged"}
    samples = [
        h("span", h("span", SIGNS[mark], class_=f"sample {mark}", aria_hidden="true"), meaning)
        for mark, meaning in meanings.items()
    ]
    return h("p", "In the pictures: ", samples, class_="legend")


def _heads() -> Element:
    titles = ("rewrites", "near misses", "nodes", "time")
    return h(
        "div",
        h("span"),
        h("span", "step (the real GE's name)"),
        [h("span", title, class_="number") for title in titles],
        h("span"),
        class_="row heads",
        aria_hidden="true",
    )


def _stage(name: str, seconds: float, steps: Sequence[StepReport], slowest: float) -> Iterator[Element]:
    own = [step for step in steps if step.stage == name]
    label = h("span", name, h("span", f"  {plural_text(len(own), 'step')}", class_="soft"), class_="label")
    yield h("div", label, h("span", time_text(seconds), class_="number"), h("span"), class_="row stage")
    for quiet, run in groupby(own, key=lambda step: step.quiet and step.stage == "passes"):
        if quiet:
            yield _quiet(list(run), slowest)
        else:
            for step in run:
                yield _step(step, slowest)


def _quiet(steps: list[StepReport], slowest: float) -> Element:
    """Passes in a row that found nothing to do, in one line."""
    seconds = sum(step.seconds for step in steps)
    names = ", ".join(step.name for step in steps[:2])
    if len(steps) > 2:
        names += f" and {count_text(len(steps) - 2)} more"
    return h(
        "details",
        h(
            "summary",
            h("span", names, h("span", "nothing to do", class_="ge"), class_="pass"),
            h("span"),
            h("span"),
            h(
                "span",
                count_text(steps[0].nodes_after),
                h("span", " nodes", class_="vh"),
                class_="number soft",
            ),
            h("span", time_text(seconds), class_="number soft"),
            bar(seconds / slowest if slowest else 0),
            class_="row",
        ),
        h(
            "div",
            h(
                "dl",
                [(h("dt", step.name, _ge_name(step)), h("dd", step.summary or "–")) for step in steps],
                class_="pairs",
            ),
            class_="body",
        ),
        class_="step quiet",
    )


def _step(step: StepReport, slowest: float) -> Element:
    nodes = count_text(step.nodes_after)
    if step.nodes_before != step.nodes_after:
        nodes = f"{count_text(step.nodes_before)} → {nodes}"
    return h(
        "details",
        h(
            "summary",
            h("span", step.name, _ge_name(step), class_="pass"),
            _number(step.rewrites, " rewrites"),
            _number(step.rejects, " near misses"),
            h("span", nodes, h("span", " nodes", class_="vh"), class_="number"),
            h("span", time_text(step.seconds), class_="number"),
            bar(step.seconds / slowest if slowest else 0),
            class_="row",
        ),
        h("div", _body(step), class_="body"),
        class_="step",
    )


def _ge_name(step: StepReport) -> Element | None:
    return h("span", f"GE: {step.ge_name}", class_="ge") if step.ge_name else None


def _number(number: int, noun: str) -> Element:
    return h("span", count_text(number), h("span", noun, class_="vh"), class_="number") if number else h("span")


def _body(step: StepReport) -> Iterator[Child]:
    yield h("p", step.summary or "No description.")
    if step.groups.rewrites:
        yield h("h3", plural_text(step.rewrites, "rewrite"))
        yield [_group(group, "group") for group in step.groups.rewrites]
    if step.groups.rejects:
        yield h("h3", plural_text(step.rejects, "near miss", "near misses"))
        yield [_group(group, "group missed") for group in step.groups.rejects]


def _group(group: Group, class_: str) -> Element:
    first, *others = group.sentences
    chips = [h("li", f"{operators} × {count_text(n)}") for operators, n in group.operators]
    if group.other_operators:
        chips.append(h("li", f"… {count_text(group.other_operators)} more"))
    return h(
        "div",
        h(
            "p",
            h("span", f"{count_text(group.count)} ×", class_="count"),
            h("code", group.code, class_="code"),
        ),
        h("ul", chips, class_="chips"),
        h("p", first, class_="sentences") if not others else _sentences(group),
        h("p", h("b", "Cure: "), group.hint, class_="cure") if group.hint else None,
        class_=class_,
    )


def _sentences(group: Group) -> Element:
    first, *others = group.sentences[:MOST_SENTENCES]
    left = group.count - 1 - len(others)
    return h(
        "details",
        h("summary", f"{first}, and {count_text(group.count - 1)} more"),
        h(
            "ul",
            [h("li", sentence) for sentence in others],
            h("li", f"… {count_text(left)} more") if left else None,
            class_="sentences",
        ),
    )


def _example(example: Example, drawn: Drawn) -> Element:
    region = example.region
    alike = f" ({count_text(example.alike)} alike)" if example.alike > 1 else ""
    inside = f" inside {' › '.join(region.inside)}" if region.inside else ""
    left_out = ", ".join(f"{count_text(n)} more {mark}" for mark, n in region.left_out)
    return h(
        "figure",
        h(
            "figcaption",
            h("b", f"#{example.number + 1} "),
            example.sentence,
            h("span", inside + alike, class_="soft"),
        ),
        h(
            "div",
            _side("Before", region.before, drawn),
            _side("After", region.after, drawn),
            class_="pair",
        ),
        h("p", f"Not shown: {left_out}.", class_="left-out") if left_out else None,
        class_="example",
    )


def _side(title: str, picture: Picture, drawn: Drawn) -> Element:
    content: Child
    if not picture.boxes:
        content = h("p", "Nothing of it is left.", class_="soft")
    else:
        content = h("div", drawn[id(picture)], class_="scroll", tabindex=0, role="group", aria_label=f"{title}: graph")
    return h("div", h("h4", title), content)


def _waiting(data: Report) -> Iterator[Element]:
    if data.off:
        yield h("p", f"Off, to be switched on with --on NAME: {', '.join(data.off)}.", class_="waiting")
    waiting = [stage.name for stage in data.stages if not stage.steps]
    if waiting:
        yield h("p", f"Not built yet: {', '.join(waiting)}.", class_="waiting")
