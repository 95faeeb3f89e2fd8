"""The same compilation in other words: Python, our command line, atc's, and a fusion switch file."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from gexplorer.passes.fusion.switch_file import write_json
from gexplorer.views.report import changed_options, command_line

if TYPE_CHECKING:
    from gexplorer.options import Options
    from gexplorer.views.explorer.subject import Subject

SWITCH_FILE = "fusion_switch.cfg"
# atc's --topo_sorting_mode. Source: the CANN 8.0 manual, atc's options.
_TOPOLOGY = {"bfs": 0, "dfs": 1, "rdfs": 2, "stable_rdfs": 3}


def copies(subject: Subject) -> dict[str, str]:
    """``python``, ``cli``, ``atc`` and ``switch_file``; "" where nobody knows what was asked for."""
    options = subject.options
    if options is None:
        return {"python": "", "cli": "", "atc": "", "switch_file": ""}
    switches = switch_file(subject)
    return {
        "python": python_text(subject.name, options),
        "cli": command_line(subject.name, options),
        "atc": atc_line(subject.name, options, switched=switches != write_json({}, {})),
        "switch_file": switches,
    }


def python_text(model: str, options: Options) -> str:
    """Python that compiles the same."""
    changed = {name: dict(v) if isinstance(v, Mapping) else v for name, v in changed_options(options).items()}
    arguments = ", ".join([repr(model), *(f"{name}={value!r}" for name, value in changed.items())])
    return f"import gexplorer as gx\n\nc = gx.compile({arguments})"


def atc_line(model: str, options: Options, *, switched: bool) -> str:
    """What one would type for CANN's compiler, as far as it knows the options; a POSIX shell's quotes.

    A model of the zoo has no file; the line takes it for saved under its name.

    Args:
        model: name or path.
        options: what was asked for.
        switched: whether passes are switched, so that the line names a switch file.
    """
    stem = PurePath(model.partition(":")[0]).name.removesuffix(".onnx") or "model"
    path = model if model.endswith(".onnx") else f"{stem}.onnx"
    words = ["atc", "--framework=5", f"--model={path}", f"--output={stem}", f"--soc_version={options.soc}"]
    if options.shapes:
        shapes = (
            f"{name}:{','.join(str(dim) if isinstance(dim, int) else '-1' for dim in dims)}"
            for name, dims in options.shapes.items()
        )
        words.append(f"--input_shape={';'.join(shapes)}")
    if switched:
        words.append(f"--fusion_switch_file={SWITCH_FILE}")
    if options.order in _TOPOLOGY:
        words.append(f"--topo_sorting_mode={_TOPOLOGY[options.order]}")
    if options.streams == "cube_vector":
        words.append("--multi_stream_parallel_mode=cv")
    elif options.streams.startswith("streams:"):
        words.append(f"--multi_stream_parallel_mode=LoadBalance:{options.streams.partition(':')[2]}")
    if not options.enable_mem_reuse:
        words.append("--disable_reuse_memory=1")
    return shlex.join(words)


def switch_file(subject: Subject) -> str:
    """GE's JSON form: every pass that is not as it is by default, by GE's name if it means that alone, or by ours."""
    kinds: dict[str, dict[str, bool]] = {"graph": {}, "ub": {}}
    by_ge_name: dict[str, set[bool]] = {}
    for name, found in subject.passes.items():
        if found.ge_name:
            by_ge_name.setdefault(found.ge_name, set()).add(name in subject.running)
    for name, found in subject.passes.items():
        on = name in subject.running
        if on != found.default:
            alone = found.ge_name and by_ge_name[found.ge_name] == {on}
            kind = kinds["ub" if getattr(found, "kind", "") == "ub" else "graph"]
            kind[found.ge_name if alone and found.ge_name else name] = on
    return write_json(kinds["graph"], kinds["ub"])
