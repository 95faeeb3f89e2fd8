"""Row 1: the six stages of a compilation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gexplorer.articles.row import Row, says
from gexplorer.compiler import compile as compile_
from gexplorer.trace.records import STAGES


class Stages(Row):
    """A small ResNet-50, from the model file to the offline model."""

    row = 1
    title = "Six stages, from the graph to the offline model"
    article = says(
        stages="graph parsing, optimisation passes, memory planning, scheduling, kernel generation, validation",
        result=".om",
    )
    note = (
        "The names and the order are the article's. The real GE assigns streams before memory and compiles kernels "
        "before both; here the schedule follows the memory plan and its times need the tiles, so that kernels are "
        "chosen before it, and shown behind it."
    )

    def compute(self) -> Mapping[str, object]:
        """Steps of each stage, how many of them changed or told something, and the size of the file."""
        built = compile_("resnet50:small=true,weights=random", validate="quick")
        with TemporaryDirectory() as folder:
            size_bytes = built.save(Path(folder) / "article.om").stat().st_size
        by_stage = {stage: [step for step in built.steps if step.stage == stage] for stage in STAGES}
        return {
            "stages": [
                {
                    "stage": stage,
                    "steps": len(steps),
                    "changed_something": sum(step.changed for step in steps),
                    "us": round(1e6 * sum(step.seconds for step in steps)),
                }
                for stage, steps in by_stage.items()
            ],
            "nodes_read": built.source.nodes,
            "kernels": built.schedule.kernels.launches,
            "validation": built.validation.status,
            "om_bytes": size_bytes,
        }
