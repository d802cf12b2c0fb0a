"""List scheduling of items with measured costs on lanes.

Knows: that items go, in the order of the program, to the lane where they can begin first; that a value which changes
lanes arrives a handoff later, so that a part which is smaller than its handoffs stays where it is.
Refuses to know: what an item is, and who runs it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple


class TaskSchedule(NamedTuple):
    """Tasks, which have no join in their middle, their dependencies, and the expected duration of all."""

    parts: tuple[tuple[int, ...], ...]  # the items of each task, in an order that keeps dependencies
    waits: tuple[int, ...]  # the number of tasks that each waits for
    followers: tuple[tuple[int, ...], ...]  # the tasks that wait for each
    lanes: tuple[int, ...]  # a hint: tasks of one lane pass values to each other; 0 is that of the caller
    span: float  # in the unit of the costs


def schedule(
    before: Sequence[Collection[int]], costs: Sequence[float], threads: int, handoff: float
) -> TaskSchedule:
    """The schedule for at most `threads` threads; item `i` needs the items `before[i]`, all of them less than `i`.

    >>> schedule([(), (), (0, 1)], [9.0, 9.0, 1.0], 2, 2.0).parts
    ((0,), (1,), (2,))
    >>> schedule([(), (), (0, 1)], [1.0, 1.0, 1.0], 2, 2.0).parts
    ((0, 1, 2),)
    """
    lanes = _Lanes(before, costs, threads, handoff)
    for item in range(len(costs)):
        if not lanes.floats(item):
            lanes.place(item)
    for item in sorted(lanes.floating):
        if item in lanes.floating:  # needed by nobody
            lanes.place(item)
    return _cut(lanes, before)


ONE_TASK: Final = TaskSchedule(((0,),), (0,), ((),), (0,), 0.0)


class _Lanes:
    """The lane and the end time of each placed item."""

    def __init__(
        self, before: Sequence[Collection[int]], costs: Sequence[float], threads: int, handoff: float
    ) -> None:
        self.before = before
        self.costs = costs
        self.handoff = handoff
        self.free = [0.0, *(handoff for _ in range(threads - 1))]  # when each lane can begin something
        self.lane: dict[int, int] = {}
        self.end: dict[int, float] = {}  # of placed items, in the order in which they were placed
        self.floating: dict[int, float] = {}  # costs of small items that no placed item needs

    def floats(self, item: int) -> bool:
        """Whether an item is left for its first consumer to place: with what floats below it, it is small.

        Placed at once it would go to the idlest lane, and drag what needs it from where its other operands are.
        """
        total = self.costs[item] + sum(self.floating.get(x, 0.0) for x in self.before[item])
        if total >= 2 * self.handoff:
            return False
        self.floating[item] = total
        return True

    def place(self, item: int) -> None:
        """Place an item, and the floating ones below it, on the lane where they can begin first."""
        group = self._floating_below(item)
        ready = {x for i in group for x in self.before[i] if x in self.end}
        starts = [self._start(at, ready) for at in range(len(self.free))]
        lane, end = min(enumerate(starts), key=lambda start: start[1] + self._cut_cost(start[0], ready))
        for i in group:
            end += self.costs[i]
            self.lane[i], self.end[i] = lane, end
        self.free[lane] = end

    def _start(self, at: int, ready: Collection[int]) -> float:
        """The time at which the lane is free and has the values of `ready`."""
        arrivals = (self.end[x] + (0.0 if self.lane[x] == at else self.handoff) for x in ready)
        return max(self.free[at], max(arrivals, default=0.0))

    def _cut_cost(self, at: int, ready: Collection[int]) -> float:
        """The cost of a move for the lane that the value leaves: its task ends there."""
        return self.handoff if any(self.lane[x] != at for x in ready) else 0.0

    def _floating_below(self, item: int) -> list[int]:
        group, stack = {item}, [item]
        while stack:
            for x in self.before[stack.pop()]:
                if x in self.floating:
                    del self.floating[x]
                    group.add(x)
                    stack.append(x)
        self.floating.pop(item, None)
        return sorted(group)


def _cut(lanes: _Lanes, before: Sequence[Collection[int]]) -> TaskSchedule:
    """Cut each lane where a value arrives, and where one leaves it unless the rest is done in no time.

    A task waits only for tasks whose first item was placed before its own first item: no circle can arise.
    """
    lane = lanes.lane
    leaving = {x for i, needed in enumerate(before) for x in needed if lane[x] != lane[i]}
    parts: list[list[int]] = []
    task: dict[int, int] = {}
    waiting: list[set[int]] = []
    present: dict[int, int] = {}  # the task that is open in each lane
    late: dict[int, float] = {}  # for how long it keeps a value that others wait for
    for i in lanes.end:
        arriving = {task[x] for x in before[i] if lane[x] != lane[i]}
        at = present.get(lane[i])
        delay = late.get(lane[i], -lanes.costs[i]) + lanes.costs[i]
        if at is None or not arriving <= waiting[at] or delay > lanes.handoff:
            at = present[lane[i]] = len(parts)
            late.pop(lane[i], None)
            parts.append([])
            waiting.append(set())
        parts[at].append(i)
        task[i] = at
        waiting[at] |= {task[x] for x in before[i]} - {at}
        if i in leaving or lane[i] in late:
            late[lane[i]] = late.get(lane[i], -lanes.costs[i]) + lanes.costs[i]
    followers: list[list[int]] = [[] for _ in parts]
    for at, needed in enumerate(waiting):
        for x in needed:
            followers[x].append(at)
    return TaskSchedule(
        tuple(map(tuple, parts)),
        tuple(map(len, waiting)),
        tuple(map(tuple, followers)),
        tuple(lane[part[0]] for part in parts),
        max(lanes.free[at] for at in set(lane.values())) if lane else 0.0,
    )
