import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("gexplorer", deadline=None)  # a busy machine is no failure
settings.load_profile("gexplorer")

# Thousands of compilations: checking each would take longer than all the rest. Tests of validation ask for it.
os.environ.setdefault("GEXPLORER_VALIDATE", "off")

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the files in tests/golden/ anew")


@pytest.fixture
def golden(request):
    """Compares a text with a file in tests/golden/, or writes that file when --update-golden is given."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8", newline="\n")
        assert path.exists(), f"{path.name} is missing: run pytest with --update-golden, then look at it"
        assert text == path.read_text(encoding="utf-8")

    return compare
