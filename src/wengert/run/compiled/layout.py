"""Memory of a program's results: which buffers it has, and which values lie in one after the other.

Knows: which values live how long and which share memory, and so where a result may be written (S11: never where
somebody else can see it: inputs, constants and what leaves the program are out of reach).
Refuses to know: the text of a program, and what the functions compute.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

from wengert.arrays import Generic0d, Value, is_host_array
from wengert.arrays.kernels import VIEWS, kernel_of
from wengert.run.compiled.tracing import Call, Traced, concrete, traced_in

NUMBERS: Final = (int, float, Generic0d)  # share no memory with anything
Roots = frozenset[Traced]
Form = tuple[tuple[int, ...], Any]  # shape and dtype of a buffer; Any: numpy's or cupy's
View = tuple[int, "_Look"]  # the number of a buffer, and another look at that


def memory(calls: Iterable[Call]) -> dict[Traced, Roots]:
    """For each result, the values whose memory it may be: itself where it is new, else those it was made of."""
    roots: dict[Traced, Roots] = {}
    for call in calls:
        if call.result is not None:
            alone = kernel_of(call.function).fresh or isinstance(call.result.value, NUMBERS)
            shared = [(call.result,)] if alone else [roots.get(x, (x,)) for x in traced_in(call.arguments)]
            roots[call.result] = frozenset().union(*shared)
    return roots


class Layout:
    """Buffer of each result."""

    def __init__(self, calls: Sequence[Call], outputs: Sequence[object]) -> None:
        self.roots = memory(calls)
        self.place: dict[Traced, int] = {}  # the number of the buffer of a result
        self.buffers: list[Form] = []
        # somebody may keep an output, or what a function got of which nothing is known
        given = (*outputs, *(call.arguments for call in calls if call.opaque))
        leaving = {r for x in traced_in(given) for r in self.roots.get(x, ())}
        last = self._last_uses(calls)
        free: dict[Form, list[int]] = {}
        for at, call in enumerate(calls):
            dying = [r for r in last.get(at, ()) if r in self.place]
            kernel = kernel_of(call.function)
            if kernel.elementwise:  # before the result's buffer is chosen: it may be an operand's
                self._release(dying, free)
            if call.result is not None and kernel.into and call.result not in leaving:
                self._settle(call.result, free)
            if not kernel.elementwise:
                self._release(dying, free)
            if call.result is not None and call.result in self.place and call.result in last.get(at, ()):
                self._release([call.result], free)  # needed by nobody
        self.views = self._seen(calls)  # results that are made with the buffers, once for all runs
        self.ends = self._ends(
            calls, outputs
        )  # of each call the results, with memory of their own, that nobody reads after it

    def _seen(self, calls: Sequence[Call]) -> dict[Traced, View]:
        views: dict[Traced, View] = {}
        ordered = dict.fromkeys(self.place, True)  # whether they lie in C order, so that a look needs no copy
        for call in calls:
            if call.result is None or call.function not in VIEWS:
                continue
            x, *others = call.arguments
            if ordered.get(x) and next(traced_in(others), None) is None and is_host_array(concrete(x)):
                at, before = views.get(x) or (self.place[x], None)
                views[call.result] = at, _Look(before, call)
                ordered[call.result] = VIEWS[call.function]
        return views

    def _ends(self, calls: Sequence[Call], outputs: Sequence[object]) -> dict[Call, list[Traced]]:
        last: dict[Traced, Call] = {}
        for call in calls:
            for x in traced_in((*call.arguments, *call.options.values(), call.result)):
                last[x] = call
        stay = {*traced_in(tuple(outputs)), *self.place, *self.views}
        ends: dict[Call, list[Traced]] = {}
        for x, call in last.items():
            if x in self.roots and x not in stay and not isinstance(x.value, NUMBERS):
                ends.setdefault(call, []).append(x)
        return ends

    def _last_uses(self, calls: Sequence[Call]) -> dict[int, dict[Traced, None]]:
        final: dict[Traced, int] = {}
        for at, call in enumerate(calls):
            used = [*traced_in(call.arguments), *([call.result] if call.result is not None else ())]
            for x in used:
                for root in self.roots.get(x, ()):
                    final[root] = at
        last: dict[int, dict[Traced, None]] = {}  # sets in the order of the program
        for root, at in final.items():
            last.setdefault(at, {})[root] = None
        return last

    def _settle(self, result: Traced, free: dict[Form, list[int]]) -> None:
        like = result.value
        if not is_host_array(like) or not like.ndim or not like.size or not like.flags.c_contiguous:
            return
        form = like.shape, like.dtype
        fitting = free.get(form)
        if fitting:
            self.place[result] = fitting.pop()
        else:
            self.place[result] = len(self.buffers)
            self.buffers.append(form)

    def _release(self, dying: Iterable[Traced], free: dict[Form, list[int]]) -> None:
        for root in dying:
            places = free.setdefault(self.buffers[self.place[root]], [])
            if self.place[root] not in places:
                places.append(self.place[root])


class _Look:
    """A function of a buffer: a look at it, or at another look."""

    def __init__(self, before: _Look | None, call: Call) -> None:
        self.before = before
        self.function = call.function
        self.arguments = call.arguments[1:]  # constants
        self.options = call.options
        # what is equal for two that show the same
        self.key: Hashable = before and before.key, self.function, self.arguments, *self.options.items()

    def __call__(self, buffer: Value) -> Value:
        x = buffer if self.before is None else self.before(buffer)
        return self.function(x, *self.arguments, **self.options)
