"""A program in tasks: the calls of a plan as functions that threads run as soon as they can.

Knows: that two tasks share no buffer that either writes again, so that any order of theirs gives the same bits
(S9); that updates in place begin after the last step of all, each target's in their order.
Refuses to know: what the calls compute, how threads are kept, and whether this is faster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from wengert.arrays.changes import Change, carry_out, carry_out_by
from wengert.run.compiled.layout import Form, Layout
from wengert.run.compiled.program import Program, _Text
from wengert.run.compiled.tracing import Call, Traced, traced_in
from wengert.run.threads.crew import Crew
from wengert.run.threads.partition import Tasks, schedule


class Listing(NamedTuple):
    """What a program is made of."""

    calls: Sequence[Call]  # those with a result first, then the effects
    inputs: Sequence[Traced]
    outputs: Sequence[Any]  # Any: traced values or constants
    targets: Sequence[Traced] | None


class Regions(Program):
    """A program whose regions are functions of their own, which threads run as soon as they can."""

    def __init__(self, listing: Listing, costs: Sequence[float], crew: Crew, handoff: float) -> None:
        at = sum(call.result is not None for call in listing.calls)
        pure, effects = listing.calls[:at], listing.calls[at:]
        first = schedule(_needs(pure), costs[:at], crew.threads, handoff)
        order = _heaviest_first(effects, costs[at:])
        effects = [effects[i] for i in order]
        last = schedule(_turns(effects), [costs[at + i] for i in order], crew.threads, handoff)
        self.pays = first.span + last.span < sum(costs)
        groups = [*([pure[i] for i in part] for part in first.parts)]
        updates = [*([effects[i] for i in part] for part in last.parts)]
        layout = _TaskLayout([*groups, *updates], listing.outputs)
        text = _Text(listing.inputs, listing.targets, layout)
        text.constants.scope["crew"] = crew.run
        shared = _shared(groups, updates, listing.outputs)
        lines = text.head()
        lines += _written(text, groups, first, shared, "r")
        asking = text.asking(listing.outputs)
        changes = "".join(f"{text.changes(part)}, " for part in updates)
        self._compile(text, [*lines, asking, text.end(listing.outputs, f"({changes})")])
        self._crew, self._last = crew, last

    def carry_out(self, changes: Sequence[list[Change]], last: Iterable[Change]) -> None:
        """As `Program`, on several threads."""
        if len(changes) > 1:
            carry_out_by(partial(self._crew.run, tasks=self._last), changes, last)
        else:
            carry_out([*chain.from_iterable(changes), *last])


def _needs(calls: Sequence[Call]) -> list[set[int]]:
    """For each call the calls whose results it takes, or whose memory its operands share."""
    made: dict[Traced, int] = {}
    needs = []
    for i, call in enumerate(calls):
        needs.append({made[x] for x in traced_in(call.arguments) if x in made})
        if call.result is not None:
            made[call.result] = i
    return needs


def _turns(effects: Sequence[Call]) -> list[set[int]]:
    """For each effect the one before it on the same target."""
    latest: dict[object, int] = {}
    turns = []
    for i, call in enumerate(effects):
        turns.append({latest[call.arguments[0]]} if call.arguments[0] in latest else set())
        latest[call.arguments[0]] = i
    return turns


def _heaviest_first(effects: Sequence[Call], costs: Sequence[float]) -> list[int]:
    """Targets by what is done to them, so that the last to be placed are small; in each the effects in order."""
    total: dict[object, float] = {}
    for call, cost in zip(effects, costs, strict=True):
        total[call.arguments[0]] = total.get(call.arguments[0], 0.0) + cost
    return sorted(range(len(effects)), key=lambda i: -total[effects[i].arguments[0]])


def _shared(
    groups: Sequence[Sequence[Call]], updates: Iterable[Sequence[Call]], outputs: Sequence[object]
) -> set[Traced]:
    """The results that somebody outside their own task takes."""
    home = {call.result: at for at, group in enumerate(groups) for call in group}
    taken = {
        x for at, group in enumerate(groups) for call in group
        for x in traced_in(call.arguments) if home.get(x, at) != at
    }  # fmt: skip
    return taken.union(
        traced_in(tuple(outputs)), *(traced_in(call.arguments) for group in updates for call in group)
    )


def _written(
    text: _Text, groups: Sequence[Sequence[Call]], tasks: Tasks, shared: set[Traced], letter: str
) -> list[str]:
    """The lines of tasks: a function each, and the call that runs them; one alone stands as it is."""
    written = [[text.line(call) for call in group] for group in groups]
    if len(groups) <= 1:
        return [line for group in written for line in group]
    lines = []
    named = {*text.layout.place, *text.layout.views}
    for at, (group, body) in enumerate(zip(groups, written, strict=True)):
        made = [call.result for call in group if call.result in shared]
        names = [text.names[x] for x in made if x is not None and x not in named]
        lines += [f"{name} = None" for name in names]
        lines.append(f"def {letter}{at}():")
        lines += [f" nonlocal {name}" for name in names]
        lines += [f" {line}" for line in body if line] or [" pass"]
    works = "".join(f"{letter}{at}, " for at in range(len(groups)))
    return [*lines, f"crew(({works}), {text.constants.name(tasks)})"]


class _TaskLayout(Layout):
    """Where each result is written: a buffer is used again only in a task that alone has used it."""

    def __init__(self, groups: Sequence[Sequence[Call]], outputs: Sequence[object]) -> None:
        self._task: Mapping[Call, int] = {call: at for at, group in enumerate(groups) for call in group}
        self._home = {call.result: at for call, at in self._task.items() if call.result is not None}
        self._free: dict[int, dict[Form, list[int]]] = {}
        super().__init__([call for group in groups for call in group], outputs)

    def _last_uses(self, calls: Sequence[Call]) -> dict[int, dict[Traced, None]]:
        users: dict[Traced, set[int]] = {}
        for call in calls:
            for x in traced_in((*call.arguments, call.result)):
                for root in self.roots.get(x, ()):
                    users.setdefault(root, set()).add(self._task[call])
        last = super()._last_uses(calls)
        return {at: {x: None for x in dying if len(users[x]) == 1} for at, dying in last.items()}

    def _ends(self, calls: Sequence[Call], outputs: Sequence[object]) -> dict[Call, list[Traced]]:
        users: dict[Traced, set[int]] = {}
        for call in calls:
            for x in traced_in((*call.arguments, *call.options.values(), call.result)):
                users.setdefault(x, set()).add(self._task[call])
        ends = super()._ends(calls, outputs)
        return {call: [x for x in dying if len(users[x]) == 1] for call, dying in ends.items()}

    def _settle(self, result: Traced, free: dict[Form, list[int]]) -> None:
        super()._settle(result, self._free.setdefault(self._home[result], {}))

    def _release(self, dying: Iterable[Traced], free: dict[Form, list[int]]) -> None:
        for x in dying:
            super()._release([x], self._free.setdefault(self._home[x], {}))
