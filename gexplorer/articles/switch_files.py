"""Row 17: the second article's fusion switch file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from gexplorer.articles.row import Row, says
from gexplorer.compiler import Compilation
from gexplorer.compiler import compile as compile_
from gexplorer.passes.fusion.switch_file import SwitchFile, read_switch_file
from gexplorer.passes.manager import all_passes

_FILE = """[matmul_add_fusion]
enable=1
eps=1e-5

[conv_bn_relu_fusion]
enable=1

[flash_attention_fusion]
enable=1
head_num=32,64
scale=0.125
"""
_MODEL = "bert-base:layers=1,seq=128"  # 12 heads, which the file's list of heads does not hold


class SwitchFiles(Row):
    """One layer of BERT without rules, by the article's file, by that file without its conditions, and as it is."""

    row = 17
    title = "Nothing fuses unless a switch file says so"
    article = says(unconfigured_fused=0, file="fusion_switch_file with sections in INI form, enable=1 in each")
    note = (
        "The real GE's default is on, and so is ours; the preset unconfigured is the article's. Its sections are read "
        "as they are: a list of heads or a scale is a condition on the rule, and a layer of 12 heads is not in it. "
        "The real GE's text and JSON forms are read, too."
    )

    def compute(self) -> Mapping[str, object]:
        """Rewrites of fusion rules under each configuration."""
        whole, free = _read(_FILE), _read(_FILE.partition("head_num")[0])
        builds = {
            "unconfigured": compile_(_MODEL, preset="unconfigured"),
            "article_file": _by(whole),
            "without_conditions": _by(free),
            "default": compile_(_MODEL),
        }
        return {
            "switched_on": sorted(name for name, is_on in whole.switches.items() if is_on),
            "conditions": {rule: {key: list(v) for key, v in limits.items()} for rule, limits in whole.limits.items()},
            "declined": [miss.reason for miss in builds["article_file"].why("flash_attention")],
            "builds": {
                name: {
                    "fused": sum(len(step.rewrites) for step in built.steps if step.is_fusion),
                    "kernels": built.schedule.kernels.launches,
                }
                for name, built in builds.items()
            },
        }


def _read(text: str) -> SwitchFile:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fusion_switch.cfg"
        path.write_text(text)
        return read_switch_file(path, [name for one in all_passes() for name in (one.name, one.ge_name) if name])


def _by(file: SwitchFile) -> Compilation:
    return compile_(_MODEL, preset="unconfigured", fusion=dict(file.switches), allowed=dict(file.limits))
