"""Changes that no signal, timeout or interrupt can find half made: a list of calls, carried out as one call in C.

Knows: that Python raises what another thread or a signal's handler throws at a thread only between two instructions
of its own, at a call's end, a function's begin or a jump back; and that a loop written in C has none of these.
Refuses to know: what is changed. Who makes a change has every value ready, so that no call of it fails; each call is of
a function written in C, of numpy, of BLAS or of Python's own. A finalizer that Python runs meanwhile keeps what it
raises to itself.

Source: CPython, `Python/ceval.c`, `eval_breaker`; `Modules/_collectionsmodule.c`, `consume_iterator`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain, repeat, starmap
from operator import call
from typing import Any, Final, TypeAlias

__all__ = ["Change", "Run", "all_set", "carry_out", "carry_out_by"]

# A function written in C, and its arguments. Any: functions of all types
Change: TypeAlias = tuple[Any, ...]
Run: TypeAlias = Callable[[Sequence[Callable[[], object]]], object]  # calls them all, on whatever threads

# With a length of 0 it takes nothing in, and so can be shared: half the time of a new one for each list of changes.
_finish: Final[Callable[[Iterable[object]], None]] = deque[object](maxlen=0).extend


def carry_out(changes: Iterable[Change]) -> None:
    """Make all changes, in order; whatever is thrown at this thread comes before the first or after the last.

    >>> weights = [1.0, 2.0]
    >>> carry_out([(weights.__setitem__, 0, 3.0), (weights.append, 4.0)])
    >>> weights
    [3.0, 2.0, 4.0]
    """
    _finish(starmap(call, changes))


def all_set(objects: Iterable[object], name: str, values: Iterable[object]) -> Change:
    """The change that gives each object its value of an attribute: a third of the time of a change for each."""
    return _finish, map(setattr, objects, repeat(name), values)


def carry_out_by(run: Run, parts: Sequence[Iterable[Change]], last: Iterable[Change]) -> None:
    """Make the changes of each part in order, the parts as `run` calls them, then the last ones.

    What an interrupt leaves of the parts is made here, when nobody is at work any more: `run` sees to that.
    """
    begun = [starmap(call, part) for part in parts]
    rest = chain(*begun, starmap(call, last))  # an iterator goes on where it stopped
    works = [partial(_finish, part) for part in begun]
    try:
        run(works)
    finally:
        _finish(rest)  # nothing is called before this: an interrupt comes at a call's end
