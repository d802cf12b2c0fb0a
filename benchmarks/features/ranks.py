"""Two processes of PyTorch, as `torch.multiprocessing.spawn` starts them.

Knows: PyTorch's groups of processes.
Refuses to know: who starts them.
"""

from __future__ import annotations

from pathlib import Path

import torch
from torch import distributed, nn
from torch.distributed.tensor import parallel

from benchmarks.features.probes import near


def averaged(rank: int, folder: str) -> None:
    """Write the derivative of a weight by all of two processes, of which each has an example."""
    _meet(rank, folder)
    net = nn.parallel.DistributedDataParallel(nn.Linear(1, 1, bias=False))
    net(torch.full((1, 1), float(rank + 1))).sum().backward()
    Path(folder, str(rank)).write_text(str(net.module.weight.grad.item()), encoding="utf-8")
    distributed.destroy_process_group()


def divided(rank: int, folder: str) -> None:
    """Check half of the columns of a layer that two processes divide."""
    _meet(rank, folder)
    torch.manual_seed(0)
    net = nn.Linear(2, 4)
    whole = net(torch.ones(1, 2))
    mesh = distributed.device_mesh.init_device_mesh("cpu", (2,))
    parallel.parallelize_module(net, mesh, parallel.ColwiseParallel())
    near(net(torch.ones(1, 2)).detach(), whole[:, 2 * rank : 2 * rank + 2].detach())
    Path(folder, str(rank)).touch()
    distributed.destroy_process_group()


def _meet(rank: int, folder: str) -> None:
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
