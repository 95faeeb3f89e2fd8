"""Switches and lists of choices as ordinary ipywidgets, tied to an explorer in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import ipywidgets

from gexplorer.hardware.catalogue import chip_names
from gexplorer.jupyter.explorer import Explorer
from gexplorer.memory.modes import MODES
from gexplorer.passes.switches import PRESETS
from gexplorer.views.summary import rule_rows


class Controls(ipywidgets.VBox):
    """A switch for every fusion rule that did or nearly did something, and choices for chip, memory, tiling, preset.

    Args:
        explorer: what they change, and are changed by.
        every: switches for all passes and rules.
    """

    def __init__(self, explorer: Explorer, *, every: bool = False) -> None:
        self._explorer = explorer
        self._quiet = False
        options = explorer.opened.options
        wide = {"description_width": "6em"}
        self.choices = {
            name: ipywidgets.Dropdown(
                options=list(dict.fromkeys((*choices, str(getattr(options, name))))),
                value=str(getattr(options, name)),
                description=label,
                style=wide,
            )
            for name, label, choices in (
                ("soc", "chip", chip_names()),
                ("memory", "memory", tuple(MODES)),
                ("tiling_mode", "tiling", ("library", "fast", "exhaustive")),
                ("preset", "rules", PRESETS),
            )
        }
        rules = _rules(explorer, every)
        self._opened = {name: on for name, _, on in rules}
        self.rules = {
            name: ipywidgets.Checkbox(value=on, description=label, indent=False, layout={"width": "auto"})
            for name, label, on in rules
        }
        self.status = ipywidgets.Label("", layout={"max_width": "100%"})  # what is too long ends in …
        self.back = ipywidgets.Button(description="reset", tooltip="back to what it was opened with")
        for name, control in {**self.choices, **self.rules}.items():
            control.observe(partial(self._changed, name), "value")
        self.back.on_click(self._reset)
        explorer.on_result(self._heard)
        boxes = ipywidgets.GridBox(
            list(self.rules.values()), layout={"grid_template_columns": "repeat(auto-fill, minmax(14em, 1fr))"}
        )
        row = ipywidgets.HBox([*self.choices.values(), self.back, self.status], layout={"flex_flow": "row wrap"})
        super().__init__([row, boxes])
        self._follow()

    def __repr__(self) -> str:
        return f"Controls({len(self.rules)} rules of {self._explorer!r})"

    def _changed(self, name: str, change: Mapping[str, Any]) -> None:
        if not self._quiet:
            value = change["new"]
            self._explorer.change(**({"fusion": {name: value}} if name in self.rules else {name: value}))

    def _reset(self, _: object) -> None:
        self._explorer.reset()

    def _heard(self, message: Mapping[str, Any]) -> None:
        """Shows what the explorer shows, whoever has changed it."""
        if message["type"] == "failure":
            self.status.value = self.status.tooltip = str(message["message"])
        elif message["type"] == "work":
            self.status.value = f"{message['text']} {message['done']}/{message['total']}"
        elif message["type"] == "parts":
            self.status.value = ""
            self._follow()

    def _follow(self) -> None:
        options = self._explorer.compilation.options
        switched = self._explorer.changes.get("fusion", {})
        self._quiet = True
        try:
            for name, control in self.choices.items():
                control.value = str(getattr(options, name))
            for name, control in self.rules.items():
                control.value = bool(switched.get(name, self._opened[name]))
        finally:
            self._quiet = False


def _rules(explorer: Explorer, every: bool) -> list[tuple[str, str, bool]]:
    """Name, label and state of the passes and rules to show, in running order."""
    compiled = explorer.opened
    fusions = {step.name for step in compiled.steps if step.is_fusion}
    rows: list[tuple[str, str, bool]] = []
    for row in rule_rows(compiled.steps, compiled.options):
        name, matched = str(row["name"]), row["matched"]
        if every or (name in fusions and matched):
            rows.append((name, f"{name} ({row['effective']})" if row["enabled"] else name, bool(row["enabled"])))
    return rows
