"""Logging: what runs do to weights, by the standard library's `logging`.

Knows: that a failure is an error and all else is for debugging; that a record is made only if its logger wants it,
so that silence costs nothing.
Refuses to know: handlers, levels and files, which are the program's.
"""

from __future__ import annotations

from logging import DEBUG, ERROR, Logger, getLogger

from wengert.errors import Failures
from wengert.graph.watchers import enter
from wengert.graph.weights import Weight
from wengert.plugins.plugin import Plugin


class Logging(Plugin):
    """Records of the runs in which weights of this settings object take part, each once a logger.

    ERROR: a failure, with the operation, its operands and the line where it was written. DEBUG: the forward and
    the backward of every operation, and every weight's update; such a run goes node by node, without a plan.
    What `forward` does by hand, outside `predict`, `train` and `gradients`, is not recorded.

    >>> import logging
    >>> from wengert.plugins import SGD
    >>> class Settings(Logging, SGD): ...
    >>> w = Settings(learning_rate=0.1, logger=logging.getLogger("mine")).double_weight(2.0, name="w")
    >>> logging.getLogger("mine").isEnabledFor(logging.DEBUG)  # so this run makes no record
    False
    >>> (w * 3.0).train().run()
    6.0
    """

    logger: Logger = getLogger("wengert")

    def __post_init__(self) -> None:
        enter(self)

    def __setstate__(self, state: dict[str, object]) -> None:
        super().__setstate__(state)
        enter(self)

    @property
    def detailed(self) -> bool:
        """Tell whether there are records of operations and updates now."""
        return self.logger.isEnabledFor(DEBUG)

    @property
    def listener(self) -> Logger:
        """Settings objects with one logger make one record of what they all are told."""
        return self.logger

    def operation(self, direction: str, what: str) -> None:
        """Record an operation."""
        self.logger.debug("%s of %s", direction, what)

    def updated(self, weight: Weight) -> None:
        """Record an update."""
        self.logger.debug("update of %r", weight)

    def failed(self, failure: Exception) -> None:
        """Record a failure."""
        if self.logger.isEnabledFor(ERROR):
            for each in failure.exceptions if isinstance(failure, Failures) else (failure,):
                notes = "".join(f"\n  {note}" for note in getattr(each, "__notes__", ()))
                self.logger.error("%s: %s%s", type(each).__name__, str(each), notes)
