"""The cost of an operator that runs on the host: its tensors go there and back."""

from __future__ import annotations

import numpy as np

from gexplorer.cost.kernel import KernelCost
from gexplorer.cost.kernel_work import HostWork
from gexplorer.hardware.spec import Chip

# Illustrative: PCIe 4.0 with 16 lanes, one way, by its standard. No chip file says by what link its card is connected,
# and no source what torch_npu's fallback reaches; with pageable memory it is a fraction of this.
LINK_BYTES_PER_US = 32e3


def host_cost(work: HostWork, chip: Chip) -> KernelCost:
    """Cost of a round trip; what the host computes between is not known and not in it.

    The host dispatches a copy to itself, the operator, and a copy back. The copies take what the link takes or what
    HBM takes, the slower of the two. ``LINK_BYTES_PER_US`` is illustrative, the rest is the chip's.
    """
    data = work.to_host_bytes + work.to_chip_bytes
    hbm = data / chip.hbm.achieved_bytes_per_us
    launch = 3 * chip.launch.dispatch_us
    return KernelCost(
        total_us=np.array([launch + max(data / LINK_BYTES_PER_US, hbm)]),
        launch_us=launch,
        pipes={"hbm": np.array([hbm])},
        hbm_bytes=np.array([data]),
        l2_bytes=np.array([0.0]),
        l1_bytes=np.array([0.0]),
        ub_bytes=np.array([0.0]),
        compulsory_bytes=data,
        waves=np.array([1]),
        tail_idle=np.array([0.0]),
    )
