"""One file adds a pass, a planner, a command: what finds them."""

import sys

import pytest

from gexplorer.discovery import classes_of, modules_of


class Base:
    pass


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with files of the given text; it is imported under a name of its own."""

    def make(files: dict[str, str]):
        folder = tmp_path / "found_package"
        for name, text in {"__init__": "", **files}.items():
            path = folder / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"from {__name__} import Base\n{text}" if name != "__init__" else text)
        monkeypatch.syspath_prepend(tmp_path)
        for name in [name for name in sys.modules if name.split(".")[0] == "found_package"]:
            monkeypatch.delitem(sys.modules, name)
        import found_package

        return found_package

    yield make
    for name in [name for name in sys.modules if name.split(".")[0] == "found_package"]:
        del sys.modules[name]


def test_every_module_in_order_those_of_inner_packages_too(package):
    found = package({"b": "", "a": "", "inner/__init__": "", "inner/c": ""})
    names = [module.__name__.removeprefix("found_package.") for module in modules_of(found)]
    assert names == ["a", "b", "inner", "inner.c"]


def test_what_a_module_defines_with_a_name_and_nothing_else(package):
    found = package(
        {
            "one": "class Bare(Base): pass\nclass One(Bare): name = 'one'\nclass Other: name = 'other'\nname = 'x'",
            "two": "from found_package.one import One\nclass Two(One): name = 'two'",
        }
    )
    assert [kind.name for kind in classes_of(found, Base)] == ["one", "two"]


def test_the_attribute_that_names_one_is_the_caller_s(package):
    found = package({"one": "class One(Base): row = 0"})
    assert classes_of(found, Base) == ()
    assert [kind.row for kind in classes_of(found, Base, key="row")] == [0]


def test_two_of_one_name_are_refused(package):
    found = package({"one": "class One(Base): name = 'same'", "two": "class Two(Base): name = 'same'"})
    with pytest.raises(ValueError, match=r"found_package\.two defines 'same', which found_package\.one defines"):
        classes_of(found, Base)


def test_installed_ones_come_last(package, monkeypatch):
    class Entry:
        def load(self):
            return Base

    monkeypatch.setattr("gexplorer.discovery.entry_points", lambda group: [Entry()] if group == "our.group" else [])
    found = package({"one": "class One(Base): name = 'one'"})
    assert len(classes_of(found, Base)) == 1
    assert classes_of(found, Base, group="our.group")[1:] == (Base,)
