"""The cache's files: written whole, shared by processes, bounded in size."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gexplorer.cache.store import Store, default_folder
from gexplorer.errors import ModelError, OptionError
from gexplorer.output import write_file


def key(number):
    return hashlib.sha256(str(number).encode()).hexdigest()


def content(name):
    """Bytes that say of themselves whether they are whole."""
    body = name.encode() * 4000
    return hashlib.sha256(body).digest() + body


def checked(path):
    data = path.read_bytes()
    if hashlib.sha256(data[32:]).digest() != data[:32]:
        raise ModelError(f"{path}: damaged")
    return data


def fill(store, number):
    return store.put(key(number), lambda path: write_file(path, content(key(number))))


def test_what_was_put_is_found_and_nothing_else(tmp_path):
    store = Store(tmp_path / "cache")
    assert store.find(key(1), checked) is None
    assert not store.folder.exists()
    fill(store, 1)
    assert store.find(key(1), checked) == content(key(1))
    assert store.find(key(2), checked) is None
    assert [entry.key for entry in store.entries()] == [key(1)]
    with pytest.raises(ValueError, match="no key"):
        store.find("../../etc/passwd", checked)


def test_a_damaged_file_is_no_hit_and_goes(tmp_path):
    store = Store(tmp_path)
    path = fill(store, 1)
    path.write_bytes(path.read_bytes()[:-1])
    assert store.find(key(1), checked) is None
    assert not path.exists()
    fill(store, 1)
    assert store.find(key(1), checked) == content(key(1))


def test_what_was_not_used_for_longest_goes_first(tmp_path):
    size = len(content(key(0)))
    store = Store(tmp_path, max_bytes=3 * size)
    for number in range(3):
        os.utime(fill(store, number), (number + 1, number + 1))
    store.find(key(0), checked)
    fill(store, 3)
    assert {entry.key for entry in store.entries()} == {key(0), key(2), key(3)}
    assert Store(tmp_path, max_bytes=0).trim() == 3
    assert store.entries() == []


def test_what_is_larger_than_the_cache_stays_until_the_next_comes(tmp_path):
    store = Store(tmp_path, max_bytes=1)
    assert fill(store, 1).exists()
    fill(store, 2)
    assert [entry.key for entry in store.entries()] == [key(2)]


def test_other_files_of_the_folder_are_left_alone(tmp_path):
    store = Store(tmp_path)
    fill(store, 1)
    (tmp_path / "mine.om").write_text("mine")
    assert store.clear() == 1
    assert [p.name for p in tmp_path.iterdir()] == ["mine.om"]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cache's folder"):
        fill(Store(tmp_path / "file" / "cache"), 1)
    with pytest.raises(OptionError, match="at least 0"):
        Store(tmp_path, max_bytes=-1)


def test_the_folder_is_where_the_user_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("GEXPLORER_CACHE", raising=False)
    assert default_folder() == tmp_path / "gexplorer"
    monkeypatch.setenv("GEXPLORER_CACHE", str(tmp_path / "mine"))
    assert default_folder() == tmp_path / "mine"


WORKER = """
import random, sys
sys.path.insert(0, sys.argv[3])
from tests.unit.cache.test_store import Store, checked, content, fill, key
from pathlib import Path
random.seed(int(sys.argv[2]))
store = Store(Path(sys.argv[1]), max_bytes=12 * len(content(key(0))))
print("ready", flush=True)
hits = 0
for _ in range(int(sys.argv[4])):
    number = random.randrange(20)
    found = store.find(key(number), checked)
    if found is None:
        fill(store, number)
    else:
        hits += 1
        assert found == content(key(number)), "a wrong hit"
print("hits", hits, flush=True)
"""


def worker(folder, seed, rounds):
    root = str(Path(__file__).parents[3])
    return subprocess.Popen(
        [sys.executable, "-c", WORKER, str(folder), str(seed), root, str(rounds)], stdout=subprocess.PIPE, text=True
    )


def test_four_processes_share_a_cache(tmp_path):
    workers = [worker(tmp_path, seed, 300) for seed in range(4)]
    outputs = [process.communicate(timeout=120)[0] for process in workers]
    assert [process.returncode for process in workers] == [0, 0, 0, 0]
    assert all("hits" in output for output in outputs)
    store = Store(tmp_path, max_bytes=12 * len(content(key(0))))
    assert len(store.entries()) <= 13
    for entry in store.entries():
        checked(entry.path)


def test_processes_that_are_killed_leave_no_torn_file(tmp_path):
    for seed in range(12):
        process = worker(tmp_path, seed, 100_000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.01 * (seed % 5))
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    store = Store(tmp_path)
    assert store.entries()
    for entry in store.entries():
        assert checked(entry.path) == content(entry.key)
    fill(store, 999)
