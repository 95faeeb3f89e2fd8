"""The cost of attention in one kernel: a pipeline of the cube and the vector unit, tile of scores by tile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gexplorer.cost.attention_tiles import AttentionTiles, assumed_tiles
from gexplorer.cost.kernel import KernelCost, Pipe
from gexplorer.cost.tile import ACCUMULATOR_BYTES, Floats, Ints, ceil_div
from gexplorer.cost.work import Attention
from gexplorer.hardware.spec import Chip


@dataclass(frozen=True, slots=True)
class AttentionTraffic:
    """Bytes that all cores together move one way, [T] each.

    Attributes:
        loaded: Q once (in slices: once for every tile of keys), K and V once for every block of queries, as far as its
            last query sees.
        masks: the mask's part of each tile of scores, to the vector unit.
        out: the output.
        sums: scores and partial outputs, from the cube to the vector unit.
        probabilities: from the vector unit to the cube.
        carried: the output so far, from a tile of keys to the next; 0 where it stays in UB.
    """

    loaded: Floats
    masks: Floats
    out: Floats
    sums: Floats
    probabilities: Floats
    carried: Floats

    @property
    def operands(self) -> Floats:
        """Bytes between memory and the cores, but for what the two kinds of core hand over."""
        return self.loaded + self.masks + self.out + 2 * self.carried

    @property
    def hand_over(self) -> Floats:
        """Bytes written and read again between cube and vector unit.

        They go through memory (L2) where ``cube_vector_path`` is gm, else from buffer to buffer.
        """
        return 2 * (self.sums + self.probabilities)


def attention_traffic(work: Attention, tiles: AttentionTiles) -> AttentionTraffic:
    """Bytes that the kernel moves; K and V are read ``queries / tile`` times, so theta(N^2 d / tile) in all.

    A causal mask spares the keys behind a block's last query. Of the others all scores are computed and handed over,
    those above the diagonal too. A head in slices has Q fetched again for each tile of keys, and its output so far is
    cleared in memory, taken and put back for each tile, and taken once more at the end.
    """
    e = work.dtype.bits / 8
    rows, keys = _blocks(work, tiles)
    keys_and_values = keys.sum(axis=1) * (work.width + work.columns)
    scores = (rows * keys).sum(axis=1)
    turns = (rows * np.ceil(keys / tiles.keys[:, None])).sum(axis=1)
    partial = work.columns * turns
    each = np.ones(len(tiles.keys))
    q_rows = work.queries if tiles.slice is None else turns
    return AttentionTraffic(
        loaded=work.heads * (q_rows * work.width + keys_and_values) * e,
        masks=work.heads * scores * work.mask_bytes,
        out=work.heads * work.queries * work.columns * e * each,
        sums=work.heads * (scores + partial) * ACCUMULATOR_BYTES,
        probabilities=work.heads * scores * e,
        carried=work.heads * work.columns * (turns + work.queries) * ACCUMULATOR_BYTES * (tiles.slice is not None),
    )


def attention_cost(work: Attention, chip: Chip, tiles: AttentionTiles | None = None) -> KernelCost:
    """Cost of the kernel with each of the tiles; arrays of shape [T]. Without tiles that of the assumed one, [1].

    For a tile of scores: the cube computes Q K^T, the vector unit the softmax, the cube P V, the vector unit adds
    that to the output after scaling it down. All run at once, a tile apart each, so a tile takes as long as the
    busiest pipe; the first tile of a block fills the pipeline. A block of queries stays on one core. Blocks are dealt
    out by their length, under a causal mask the last queries first, so the busiest core has the first of each round.
    """
    if tiles is None:
        tiles, *more = assumed_tiles(work, chip)
        if more or len(tiles.keys) > 1:
            tiles = _fastest(work, chip, (tiles, *more))
    q, k = np.minimum(tiles.queries, work.queries), np.minimum(tiles.keys, work.keys)
    tile, ends = _tile_us(work, chip, tiles), _ends_us(work, chip, tiles)
    step = np.maximum.reduce([*tile.values()])
    fill = sum(tile.values()) - step if tiles.slice is None else _sliced_fill_us(work, chip, tiles, tile)
    blocks = work.heads * ceil_div(work.queries, q)
    waves = ceil_div(blocks, chip.cube_cores)
    steps = _busiest_core_keys(work, chip, tiles, waves) / k
    startup = chip.paths["gm->l1"].startup_us + chip.paths["ub->gm"].startup_us
    body = steps * step + waves * (fill + sum(ends.values())) + startup

    traffic = attention_traffic(work, tiles)
    through_l2 = chip.cube_vector_path == "gm"
    hbm_bytes = work.compulsory_bytes + _spilled_bytes(work, chip, tiles, traffic)
    hbm_us = hbm_bytes / chip.hbm.achieved_bytes_per_us
    pipes: dict[Pipe, Floats] = {name: steps * us + waves * ends.get(name, 0.0) for name, us in tile.items()}
    pipes["hbm"] = hbm_us
    return KernelCost(
        total_us=chip.launch.mixed_us + np.maximum(body, hbm_us),
        launch_us=chip.launch.mixed_us,
        pipes=pipes,
        hbm_bytes=hbm_bytes,
        l2_bytes=traffic.operands + through_l2 * traffic.hand_over,
        l1_bytes=traffic.loaded + traffic.probabilities,
        ub_bytes=traffic.sums + traffic.masks + traffic.probabilities + traffic.out + 2 * traffic.carried,
        compulsory_bytes=work.compulsory_bytes,
        waves=waves,
        tail_idle=1 - blocks / (waves * chip.cube_cores),
    )


def _fastest(work: Attention, chip: Chip, families: Sequence[AttentionTiles]) -> AttentionTiles:
    """The fastest tile of some families, [1]."""
    costs = [attention_cost(work, chip, tiles) for tiles in families]
    first = min(range(len(costs)), key=lambda i: costs[i].total_us.min())
    return families[first].take(np.array([costs[first].best]))


def _spilled_bytes(work: Attention, chip: Chip, tiles: AttentionTiles, traffic: AttentionTraffic) -> Floats:
    """What is carried from tile to tile and does not stay in L2, [T]: two copies of a block's output for each core."""
    blocks = np.minimum(work.heads * ceil_div(work.queries, tiles.queries), chip.cube_cores)
    workspace = 2 * blocks * tiles.queries * work.columns * ACCUMULATOR_BYTES
    return np.where(workspace > chip.l2_usable * chip.capacity.l2_bytes, 2 * traffic.carried, 0.0)


def _blocks(work: Attention, tiles: AttentionTiles) -> tuple[Floats, Floats]:
    """Rows of each block of queries of a head, and keys that it goes along, [T, blocks]; 0 where there is no block."""
    step = tiles.queries[:, None]
    first = np.arange(int(ceil_div(work.queries, tiles.queries).max())) * step
    rows = np.clip(work.queries - first, 0, step).astype(float)
    seen = np.clip(work.keys - work.queries + first + step, 0, work.keys) if work.causal else work.keys
    return rows, np.where(rows > 0, seen, 0.0)


def _busiest_core_keys(work: Attention, chip: Chip, tiles: AttentionTiles, waves: Ints) -> Floats:
    """Keys that the busiest core goes along in all its blocks, [T]; a head's blocks differ under a causal mask only."""
    _, keys = _blocks(work, tiles)
    if not work.causal:
        return waves * keys[:, 0]
    longest_first = np.sort(keys, axis=1)[:, ::-1]
    rounds = np.arange(int(waves.max()))
    block = rounds * chip.cube_cores // work.heads  # of a head, by length: all heads' longest come first
    taken = longest_first[:, np.minimum(block, keys.shape[1] - 1)]
    return np.where(rounds < waves[:, None], taken, 0.0).sum(axis=1)


def _tile_us(work: Attention, chip: Chip, tiles: AttentionTiles) -> dict[Pipe, Floats]:
    """Time of each pipe for one tile of scores, [T] each.

    In slices there are more MMADs, Q is fetched again, P goes to L0A for each part of V, and the output so far comes
    from memory and goes back. Each slice is then a panel of a product: it takes a start-up time at least, and the way
    to L0 counts (``gemm_pipes``); with the whole width there are as few of them as there can be.
    """
    q, k = np.minimum(tiles.queries, work.queries), np.minimum(tiles.keys, work.keys)
    e = work.dtype.bits / 8
    scores, outputs = q * k, q * work.columns
    rows = ceil_div(q, chip.cube.m)
    terms = ceil_div(k, chip.cube.n) * np.ceil(work.width * e / chip.cube.k_bytes)
    terms = terms + -(-work.columns // chip.cube.n) * np.ceil(k * e / chip.cube.k_bytes)
    mmads, again = tiles.mmads(work), tiles.slice is not None
    steps = rows * terms * chip.cube.step_cycles(work.dtype.bits)
    cube = (steps + mmads * (chip.cube.head_cycles + chip.cube.gap_cycles)) / chip.cycles_per_us

    # The softmax; then scale and add the output.
    vector_bytes = (scores * _passes(work, chip) + outputs * 2) * ACCUMULATOR_BYTES
    vector = vector_bytes / chip.vector.bytes_per_cycle / chip.vector_per_cube / chip.cycles_per_us

    sums, probabilities = (scores + outputs) * float(ACCUMULATOR_BYTES), scores * e
    operands, masks = (k * (work.width + work.columns) + again * q * work.width) * e, scores * work.mask_bytes
    carried = again * outputs * float(ACCUMULATOR_BYTES)
    rate = {path: chip.paths[path].bytes_per_us for path in chip.paths}
    us: dict[Pipe, Floats] = {"cube": cube, "vector": vector}
    if chip.cube_vector_path == "direct":
        us["mte2"] = operands / rate["gm->l1"] + (masks + carried) / rate["gm->ub"]
        us["mte3"] = probabilities / rate["ub->l1"] + carried / rate["ub->gm"]
        us["fixpipe"] = sums / rate["l0c->ub"]
    else:
        into_ub = (sums + masks + carried) / chip.vector_per_cube / rate["gm->ub"]
        # The two kinds of core have an MTE2 each; the busier one counts.
        us["mte2"] = np.maximum((operands + probabilities) / rate["gm->l1"], into_ub)
        us["mte3"] = (probabilities + carried) / chip.vector_per_cube / rate["ub->gm"]
        us["fixpipe"] = sums / rate["l0c->gm"]
    if again:
        left, right = (q * work.width + scores * tiles.parts(work.columns)) * e, k * (work.width + work.columns) * e
        us["mte1"] = left / rate["l1->l0a"] + right / rate["l1->l0b"]
        us["mte2"] = np.maximum(us["mte2"], mmads * chip.paths["gm->l1"].startup_us)
    return us


def _passes(work: Attention, chip: Chip) -> float:
    """Vector passes over the scores: difference from the maximum, exponential, maximum and sum of a row, cast."""
    return 2 + work.extra_passes + chip.vector.exp_passes + 2 * chip.vector.reduce_passes


def _sliced_fill_us(work: Attention, chip: Chip, tiles: AttentionTiles, tile: dict[Pipe, Floats]) -> Floats:
    """Time until all pipes work, where they are a part of the output apart and not a tile, [T].

    Only the softmax stands between the products: a tile's scores leave the cube, become probabilities and come back
    before its second product begins.
    """
    scores = np.minimum(tiles.queries, work.queries) * np.minimum(tiles.keys, work.keys)
    sums, probabilities = scores * float(ACCUMULATOR_BYTES), scores * work.dtype.bits / 8
    rate = {path: chip.paths[path].bytes_per_us for path in chip.paths}
    vector = sums * _passes(work, chip) / chip.vector.bytes_per_cycle / chip.cycles_per_us
    if chip.cube_vector_path == "direct":
        between = sums / rate["l0c->ub"] + vector + probabilities / rate["ub->l1"]
    else:
        into, out = (sums + scores * work.mask_bytes) / rate["gm->ub"], probabilities / rate["ub->gm"]
        between = (into + vector + out) / chip.vector_per_cube
        between = between + sums / rate["l0c->gm"] + probabilities / rate["gm->l1"]
    step = np.maximum.reduce([*tile.values()])
    return between + (sum(tile.values()) - step) / tiles.parts(work.columns)


def _ends_us(work: Attention, chip: Chip, tiles: AttentionTiles) -> dict[Pipe, Floats]:
    """What a block's output so far costs besides, [T] each: cleared in memory at first, taken once more at last."""
    outputs = np.minimum(tiles.queries, work.queries) * work.columns
    bytes_ = (tiles.slice is not None) * outputs * float(ACCUMULATOR_BYTES) / chip.vector_per_cube
    return {
        "mte2": bytes_ / chip.paths["gm->ub"].bytes_per_us,
        "mte3": bytes_ / chip.paths["ub->gm"].bytes_per_us,
    }
