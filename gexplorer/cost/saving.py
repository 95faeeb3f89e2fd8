"""What a step of the compiler saved: the graph after it against the graph before, on one chip."""

from __future__ import annotations

from dataclasses import dataclass

from gexplorer.cost.graph import GraphCost, KernelRow, cost_of
from gexplorer.cost.staged import Costs
from gexplorer.hardware.spec import Chip
from gexplorer.trace.records import Rewrite, Step


@dataclass(frozen=True, slots=True)
class Saving:
    """What was saved; negative numbers are losses.

    Attributes:
        name: of the step, or of the node that a rewrite is about.
        us: device time.
        hbm_bytes: bytes to and from HBM.
        l2_bytes: bytes between L2 and the cores.
        launches: kernels that need not be launched.
        dispatch_us: what the host need not dispatch in eager mode.
        uncosted: kernels before and after whose cost nobody can tell; where there are some, they are in no number.
    """

    name: str
    us: float
    hbm_bytes: float
    l2_bytes: float
    launches: int
    dispatch_us: float
    uncosted: int

    @property
    def pays(self) -> bool:
        """True where the graph after the step is faster."""
        return self.us > 0


def saving(step: Step, chip: Chip, costs: Costs | None = None) -> Saving:
    """What a whole step saved.

    Args:
        step: a fusion step, or any other.
        chip: the chip.
        costs: costs of the same chip that are known already; with them the next step costs only what is new in it.
    """
    known = costs if costs is not None else Costs(chip)
    before = cost_of(step.before, chip, costs=known)
    after = before if step.after is step.before else cost_of(step.after, chip, costs=known)
    return between(before, after, step.name)


def savings_of_rewrites(step: Step, chip: Chip, costs: Costs | None = None) -> tuple[Saving, ...]:
    """What each rewrite of a step saved, by the kernels that it removed, changed and added.

    Kernels are taken as they are in the graphs before and after the whole step, so what L2 holds is the same in both.
    Rewrites inside nested graphs are left out.
    """
    known = costs if costs is not None else Costs(chip)
    before, after = cost_of(step.before, chip, costs=known), cost_of(step.after, chip, costs=known)
    old, new = ({row.node: row for row in cost.rows} for cost in (before, after))
    unknown = [{row.node for row in cost.uncosted} for cost in (before, after)]
    return tuple(_of_rewrite(rewrite, old, new, unknown, chip) for rewrite in step.rewrites if not rewrite.path)


def _of_rewrite(
    rewrite: Rewrite, old: dict[str, KernelRow], new: dict[str, KernelRow], unknown: list[set[str]], chip: Chip
) -> Saving:
    changed = rewrite.changed
    gone = dict.fromkeys(node.name for node in (*rewrite.removed, *(pair[0] for pair in changed)))
    made = dict.fromkeys(node.name for node in (*rewrite.added, *(pair[1] for pair in changed)))
    # A later rewrite of the step may have taken in what this one made; then its kernel is not there at the end.
    first, last = [old[name] for name in gone if name in old], [new[name] for name in made if name in new]

    def total(rows: list[KernelRow]) -> tuple[float, float, float]:
        return (
            sum(row.total_us for row in rows),
            sum(row.hbm_bytes for row in rows),
            sum(float(row.cost.l2_bytes[0]) for row in rows),
        )

    us, hbm, l2 = (a - b for a, b in zip(total(first), total(last), strict=True))
    launches = len(first) - len(last)
    uncosted = sum(name in unknown[0] for name in gone) + sum(name in unknown[1] for name in made)
    return Saving(rewrite.node, us, hbm, l2, launches, launches * chip.launch.dispatch_us, uncosted)


def savings(steps: tuple[Step, ...], chip: Chip) -> tuple[tuple[Step, Saving], ...]:
    """The savings of all fusion steps that changed something; equal kernels are costed once for all of them."""
    costs = Costs(chip)
    return tuple((step, saving(step, chip, costs)) for step in steps if step.is_fusion and step.changed)


def between(before: GraphCost, after: GraphCost, name: str = "") -> Saving:
    """What lies between the costs of two graphs."""
    return Saving(
        name,
        before.latency_us - after.latency_us,
        before.hbm_bytes - after.hbm_bytes,
        before.l2_bytes - after.l2_bytes,
        len(before.rows) - len(after.rows),
        before.dispatch_us - after.dispatch_us,
        len(before.uncosted) + len(after.uncosted),
    )
