"""`Cluster`: Ray's processes for as long as a `with` block lasts, and what is asked of them.

Knows: how a cluster is opened and closed; that its workers have to compute the bits of this process.
Refuses to know: how processes are started, and what a step is.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from wengert.cluster.distributed import Distributing
from wengert.cluster.engine import Engine
from wengert.cluster.nodes import Nodes
from wengert.cluster.rays import Rays


class Cluster(Distributing, Nodes):
    """Workers on this machine, started here and ended by `close`; or those of a Ray cluster at an address.

    `workers` are as many as this process may use cores, if not said. Every process has one thread of BLAS, answers
    those who have a token that only this user can read, and listens on this machine alone; there are no dashboard and
    no usage statistics. At an address, such as "10.0.0.1:6379", RAY_AUTH_TOKEN_PATH names the file of the token.
    A worker that computes other bits than this process is refused, unless `same_bits` is False.
    `patience`: seconds after which a node of `node` that does not answer counts as lost.
    Raises PackageError without ray, ClusterError where no cluster can be started or joined.

    Source: P. Moritz et al., "Ray", OSDI 2018, which starts the processes and carries the messages.
    """

    def __init__(
        self,
        address: str | None = None,
        workers: int | None = None,
        *,
        same_bits: bool = True,
        patience: float = 10.0,
    ) -> None:
        self._rays = Rays(address, workers)
        self._same_bits = same_bits
        super().__init__(self._rays, patience=patience)

    @property
    def engine(self) -> Engine:
        """The engine, which carries messages."""
        return self._rays

    @property
    def same_bits(self) -> bool:
        """True if workers have to compute the bits of this process."""
        return self._same_bits

    @property
    def workers(self) -> int:
        """Number of workers now."""
        return self._rays.workers

    def close(self) -> None:
        """End all nodes and processes that were started here; twice does nothing."""
        try:
            super().close()
        finally:
            self._rays.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, failure: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
