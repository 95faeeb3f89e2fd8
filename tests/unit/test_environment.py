"""environment.yml offers what pyproject.toml asks for: the core and the `lab` extra, with the same bounds."""

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]

CONDA_NAME = {"graphviz": "python-graphviz", "ml-dtypes": "ml_dtypes"}
"""PyPI name -> conda-forge name, where they differ."""

CONDA_ONLY = {"python", "pip", "graphviz", "nodejs"}
"""What conda brings besides: the interpreter, pip, and programs that PyPI does not carry."""

REQUIREMENT = re.compile(r"^(?P<name>[\w.-]+)\s*(?P<bound>[^;\[\]]*)$")


def split(requirement: str) -> tuple[str, str]:
    """`"numpy>=2.1"` -> `("numpy", ">=2.1")`."""
    match = REQUIREMENT.match(requirement)
    assert match, f"not a plain `name bound`: {requirement!r}"
    return match["name"], match["bound"].replace(" ", "")


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def wanted() -> dict[str, str]:
    """What pyproject.toml asks for, under conda-forge's names."""
    table = project()
    pairs = map(split, [*table["dependencies"], *table["optional-dependencies"]["lab"]])
    return {CONDA_NAME.get(name, name): bound for name, bound in pairs}


def offered() -> dict[str, str]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    return dict(split(entry) for entry in entries if isinstance(entry, str))


def test_every_dependency_is_in_the_environment_with_the_same_bound():
    environment = offered()
    assert {name: environment.get(name, "missing") for name in wanted()} == wanted()


def test_the_environment_has_nothing_that_the_project_does_not_ask_for():
    assert offered().keys() - wanted().keys() == CONDA_ONLY


def test_the_python_range_is_the_same():
    assert offered()["python"] == project()["requires-python"]


def test_pip_installs_nothing_there_but_the_project_itself():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    assert [entry for entry in entries if not isinstance(entry, str)] == [{"pip": ["-e ."]}]
