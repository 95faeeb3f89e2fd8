"""Memory problems to plan: public ones from files, and synthetic ones of any size.

An instance is three int64 columns: the first point at which a buffer lives, the first at which it does not any more,
and its bytes. The synthetic ones come from a generator whose numbers are the same in every version of numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "dsa"
# minimalloc's challenging instances (Apache-2.0), and real programs collected by idealloc (MIT).
SMALL = tuple("ABCDEFGHIJK")
LARGE = ("resnet50", "G_1", "pangu_2.6B", "S_1", "Y_1")
SYNTHETIC = ("infer-1k", "infer-10k", "infer-100k", "infer-1m", "train-1k", "train-10k", "train-100k", "train-1m")

ALIGNMENT = 512
# One layer of Qwen2.5-7B on 2,048 tokens in 16 bits: elements a token of what each of 14 operators writes, and the
# operators of the layer (14 and more: of the next) that read it last.
TOKENS, ELEMENT_BYTES = 2048, 2
HIDDEN, KEYS, INNER = 3584, 512, 18944
LAYER = (
    (HIDDEN, 3),  # norm, read by the projections to queries, keys and values
    (HIDDEN, 4),  # queries
    (KEYS, 5),  # keys
    (KEYS, 6),  # values
    (HIDDEN, 6),  # rotated queries
    (KEYS, 6),  # rotated keys
    (HIDDEN, 7),  # attention
    (HIDDEN, 8),  # output projection
    (HIDDEN, 13),  # sum with the layer's input
    (HIDDEN, 11),  # norm, read by gate and up
    (INNER, 12),  # gate
    (INNER, 12),  # up
    (INNER, 13),  # their product
    (HIDDEN, 22),  # down projection and sum: the next layer's input, read again by its first sum
)
SKIPS, SHORTEST_SKIP, LONGEST_SKIP = 0.01, 14, 140


class Instance(NamedTuple):
    """Buffers to place."""

    name: str
    lower: Ints
    upper: Ints
    size_bytes: Ints


def instance(name: str) -> Instance:
    """An instance by name; FileNotFoundError where its file is not beside this repository."""
    kind, _, count = name.partition("-")
    if kind in BUILDERS:
        thousands = 1000 if count.endswith("m") else 1
        return BUILDERS[kind](int(count[:-1]) * 1000 * thousands, name=name)
    file = FOLDER / (f"{name}.1048576.csv" if name in SMALL else f"{name}.csv")
    columns = np.loadtxt(file, delimiter=",", skiprows=1, usecols=(1, 2, 3), dtype=np.int64)
    return Instance(name, *np.ascontiguousarray(columns.T))


def infer(count: int, seed: int = 0, name: str = "infer") -> Instance:
    """A decoder run forward: whole layers, at most ``count`` buffers, sizes jittered by half, a few long skips."""
    random = np.random.RandomState(seed)
    layers = max(1, count // len(LAYER))
    width, last = (np.tile(column, layers).astype(np.int64) for column in zip(*LAYER, strict=True))
    n = len(width)
    lower = np.arange(n, dtype=np.int64)
    upper = np.repeat(np.arange(layers, dtype=np.int64) * len(LAYER), len(LAYER)) + last + 1
    skipping = random.random_sample(n) < SKIPS
    length = SHORTEST_SKIP + random.random_sample(n) * (LONGEST_SKIP - SHORTEST_SKIP)
    upper = np.where(skipping, np.maximum(upper, lower + length.astype(np.int64)), upper)
    return Instance(name, lower, np.minimum(upper, n), _jittered(width, random))


def train(count: int, seed: int = 0, name: str = "train") -> Instance:
    """The same forward, then a mirrored backward: half of the forward buffers wait for their mirrored operator.

    Each backward operator writes one gradient, of the size of what its mirror wrote, which the next one reads.
    """
    random = np.random.RandomState(seed)
    layers = max(1, count // 2 // len(LAYER))
    width, last = (np.tile(column, layers).astype(np.int64) for column in zip(*LAYER, strict=True))
    n = len(width)
    lower = np.arange(n, dtype=np.int64)
    upper = np.repeat(np.arange(layers, dtype=np.int64) * len(LAYER), len(LAYER)) + last + 1
    mirrored = 2 * n - 1 - lower
    upper = np.where(random.random_sample(n) < 0.5, mirrored + 1, np.minimum(upper, n + 1))
    size = _jittered(width, random)
    gradients = np.arange(n, 2 * n, dtype=np.int64)
    return Instance(
        name,
        np.concatenate((lower, gradients)),
        np.concatenate((upper, np.minimum(gradients + 2, 2 * n))),
        np.concatenate((size, size[::-1])),
    )


def _jittered(width: Ints, random: np.random.RandomState) -> Ints:
    exact = width * (TOKENS * ELEMENT_BYTES) * (0.5 + random.random_sample(len(width)))
    return -(-exact.astype(np.int64) // ALIGNMENT) * ALIGNMENT


BUILDERS: Mapping[str, object] = {"infer": infer, "train": train}
