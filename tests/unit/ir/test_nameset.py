import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from immutables import Map

from gexplorer.ir.nameset import NameIndex, name_set

KEYS = st.sampled_from("ab")
NAMES = st.integers(0, 40).map(str)


class IndexMachine(RuleBasedStateMachine):
    """An index beside a plain dict of sets; 41 names make both kinds of sets occur."""

    def __init__(self) -> None:
        super().__init__()
        self.index = NameIndex(Map())
        self.model: dict[str, set[str]] = {}
        self.finished: list[tuple[Map, dict[str, set[str]]]] = []

    @rule(key=KEYS, names=st.lists(NAMES, max_size=20))
    def add(self, key, names):
        for name in names:
            self.index.add(key, name)
            self.model.setdefault(key, set()).add(name)

    @rule(key=KEYS, names=st.lists(NAMES, max_size=20))
    def discard(self, key, names):
        for name in names:
            self.index.discard(key, name)
            self.model.get(key, set()).discard(name)

    @rule()
    def finish(self):
        done = self.index.finish()
        self.finished.append((done, {key: set(names) for key, names in self.model.items() if names}))
        self.index = NameIndex(done)

    @rule(key=KEYS)
    def get(self, key):
        names = self.index.get(key)
        assert len(list(names)) == len(set(names))
        assert set(names) == self.model.get(key, set())

    @rule()
    def keys(self):
        assert sorted(self.index.keys()) == sorted(key for key, names in self.model.items() if names)

    @invariant()
    def counts(self):
        for key in "ab":
            assert self.index.count(key) == len(self.model.get(key, ()))

    @invariant()
    def finished_ones_stay(self):
        for done, model in self.finished:
            assert {key: set(names) for key, names in done.items()} == model


TestIndex = IndexMachine.TestCase


@given(st.lists(NAMES, unique=True))
def test_name_set_keeps_the_names(names: list[str]):
    made = name_set(names)
    assert isinstance(made, tuple) == (len(names) <= 16)
    assert sorted(made) == sorted(names)


@pytest.mark.parametrize("size", [1, 16, 17])
def test_large_sets_become_small_again(size: int):
    index = NameIndex(Map())
    for i in range(30):
        index.add("key", str(i))
    index = NameIndex(index.finish())
    for i in range(size, 30):
        index.discard("key", str(i))
    made = index.finish()["key"]
    assert isinstance(made, tuple) == (size <= 16)
    assert len(made) == size
