"""What the cost model knows of a chip: frozen records, units in their names, the source of every number kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Literal, cast

from gexplorer.hardware.quantities import Quantity
from gexplorer.hardware.schema import KEYS, PATHS, Value

CubeVectorPath = Literal["gm", "direct"]


@dataclass(frozen=True, slots=True)
class Cube:
    """The matrix unit: it multiplies m x k by k x n in one step, which is a cycle but for float32.

    Attributes:
        m: rows of the left matrix in one step.
        n: columns of the right matrix in one step.
        k_bytes: bytes of a row of the left matrix in one step: 32 means 16 of fp16, 32 of int8, 8 of fp32.
        float32_cycles: cycles of a step of float32.
        hf32_cycles: cycles of a step of float32 that is rounded to HF32 (11 bits of mantissa) before.
        head_cycles: busy cycles that every MMAD instruction costs besides its products.
        gap_cycles: idle cycles between two MMADs (flags of the double buffers, issue).
    """

    m: int
    n: int
    k_bytes: int
    float32_cycles: int
    hf32_cycles: int
    head_cycles: float
    gap_cycles: float

    def shape(self, bits: int) -> tuple[int, int, int]:
        """M, N and K of one step for elements of so many bits."""
        return self.m, self.n, self.k_bytes * 8 // bits

    def step_cycles(self, bits: int, *, hf32: bool = False) -> int:
        """Cycles of one step for elements of so many bits; ``hf32`` as of ``Gemm``."""
        if bits < 32:
            return 1
        return self.hf32_cycles if hf32 else self.float32_cycles

    def flops_per_cycle(self, bits: int, *, hf32: bool = False) -> float:
        """Most operations in a cycle, a multiplication and an addition for each term."""
        return 2 * prod(self.shape(bits)) / self.step_cycles(bits, hf32=hf32)


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector unit of one core. A pass is one instruction over every element.

    Attributes:
        bytes_per_cycle: bytes of operand that a simple instruction takes in one cycle.
        reduce_passes: time of a reduction along a row, in simple passes.
        divide_passes: time of a division or square root.
        exp_passes: time of an exponential or logarithm.
        row_cycles: cycles that each row of a row-wise operator costs besides its elements.
    """

    bytes_per_cycle: float
    reduce_passes: float
    divide_passes: float
    exp_passes: float
    row_cycles: float


@dataclass(frozen=True, slots=True)
class Capacity:
    """Sizes in bytes: HBM and L2 of the chip; L1, L0A, L0B, L0C and UB of one core."""

    hbm_bytes: int
    l2_bytes: int
    l1_bytes: int
    l0a_bytes: int
    l0b_bytes: int
    l0c_bytes: int
    ub_bytes: int


@dataclass(frozen=True, slots=True)
class Hbm:
    """The memory outside the chip.

    Attributes:
        bytes_per_us: its nominal rate.
        achievable: the share of it that kernels reach.
        cold_core_bytes_per_us: what one core reaches on data that is not in L2 (its requests wait longer).
    """

    bytes_per_us: float
    achievable: float
    cold_core_bytes_per_us: float

    @property
    def achieved_bytes_per_us(self) -> float:
        """What all cores together reach."""
        return self.bytes_per_us * self.achievable


@dataclass(frozen=True, slots=True)
class Path:
    """A move between two buffers of one core: rate in steady state (GM: what L2 holds), and time to the first byte."""

    bytes_per_us: float
    startup_us: float


@dataclass(frozen=True, slots=True)
class Launch:
    """Time that a kernel costs before it does anything.

    Attributes:
        cube_us: a kernel of cube cores.
        vector_us: a kernel of vector cores.
        mixed_us: a kernel of both, which also have to meet.
        dispatch_us: work of the host for one operator that a framework runs by itself (eager mode).
    """

    cube_us: float
    vector_us: float
    mixed_us: float
    dispatch_us: float


@dataclass(frozen=True, slots=True, eq=False)  # compared and hashed by identity: load_chip gives the same object again
class Chip:
    """One chip (of two dies: one die).

    Attributes:
        name: its name in CANN.
        summary: one line about it.
        cube_vector_path: where cube and vector cores hand data over: in memory, behind L2 (``gm``), or in the
            buffers of one coupled core (``direct``).
        l2_usable: share of L2 that still holds data when it is read again.
        paths: by name, such as ``gm->l1``.
        values: every number as its file says it, by dotted key.
        sources: where each is from, by the same key.
    """

    name: str
    summary: str
    clock_hz: float
    cube_cores: int
    vector_cores: int
    cube: Cube
    vector: VectorUnit
    capacity: Capacity
    hbm: Hbm
    l2_usable: float
    paths: Mapping[str, Path]
    launch: Launch
    cube_vector_path: CubeVectorPath
    values: Mapping[str, Value]
    sources: Mapping[str, str]

    @property
    def cycles_per_us(self) -> float:
        """Clock in cycles per microsecond."""
        return self.clock_hz / 1e6

    @property
    def vector_per_cube(self) -> float:
        """Vector cores that serve one cube core."""
        return self.vector_cores / self.cube_cores

    def number(self, key: str) -> float:
        """A value by its dotted key: bytes, hertz, bytes per microsecond, microseconds, or a plain number."""
        return _number(self.values, key)

    def with_values(self, changes: Mapping[str, Quantity]) -> Chip:
        """The same chip with some numbers changed, by dotted key; what is written per cycle follows a changed clock."""
        return make_chip(self.name, self.summary, {**self.values, **changes}, self.sources)

    def scaled(self, factors: Mapping[str, float]) -> Chip:
        """The same chip with some numbers multiplied, by dotted key."""
        changed: dict[str, Quantity] = {}
        for key, factor in factors.items():
            value = self.values[key]
            assert isinstance(value, Quantity)
            changed[key] = Quantity(value.number * factor, value.unit)
        return self.with_values(changed)


def make_chip(name: str, summary: str, values: Mapping[str, Value], sources: Mapping[str, str]) -> Chip:
    """A chip from complete values (``schema.require_complete``), by dotted key."""

    def number(key: str) -> float:
        return _number(values, key)

    def count(key: str) -> int:
        return round(number(key))

    paths = {
        path: Path(number(f"paths.{path}.rate"), number(f"paths.{path}.startup"))
        for path in PATHS
        if f"paths.{path}.rate" in values
    }
    return Chip(
        name=name,
        summary=summary,
        clock_hz=number("clock"),
        cube_cores=count("cores.cube"),
        vector_cores=count("cores.vector"),
        cube=Cube(
            m=count("cube.m"),
            n=count("cube.n"),
            k_bytes=count("cube.k_bytes"),
            float32_cycles=count("cube.float32_cycles"),
            hf32_cycles=count("cube.hf32_cycles"),
            head_cycles=number("cube.head_cycles"),
            gap_cycles=number("cube.gap_cycles"),
        ),
        vector=VectorUnit(
            bytes_per_cycle=number("vector.bytes_per_cycle"),
            reduce_passes=number("vector.reduce_passes"),
            divide_passes=number("vector.divide_passes"),
            exp_passes=number("vector.exp_passes"),
            row_cycles=number("vector.row_cycles"),
        ),
        capacity=Capacity(
            hbm_bytes=count("capacity.hbm"),
            l2_bytes=count("capacity.l2"),
            l1_bytes=count("capacity.l1"),
            l0a_bytes=count("capacity.l0a"),
            l0b_bytes=count("capacity.l0b"),
            l0c_bytes=count("capacity.l0c"),
            ub_bytes=count("capacity.ub"),
        ),
        hbm=Hbm(number("hbm.rate"), number("hbm.achievable"), number("hbm.cold_core_rate")),
        l2_usable=number("l2.usable"),
        paths=MappingProxyType(paths),
        launch=Launch(
            cube_us=number("launch.cube"),
            vector_us=number("launch.vector"),
            mixed_us=number("launch.mixed"),
            dispatch_us=number("launch.dispatch"),
        ),
        cube_vector_path=cast("CubeVectorPath", values["cube_vector_path"]),
        values=MappingProxyType(dict(values)),
        sources=MappingProxyType(dict(sources)),
    )


def _number(values: Mapping[str, Value], key: str) -> float:
    clock, value = values["clock"], values[key]
    assert isinstance(clock, Quantity)
    assert isinstance(value, Quantity)
    return value.in_base(KEYS[key], clock.in_base("frequency", 0))
