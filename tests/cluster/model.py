"""A model of the protocol: two nodes, two steps, a network that loses, copies and delays, nodes that die or refuse.

Every order in which all this can happen is a path in a graph of states; the states are explored breadth first.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

NODES = ("a", "b")
STEPS = 2
MESSAGES = 24  # more than any order of two faults needs on one link
SAVES = "a"  # the node that writes a checkpoint after each step


class Peer(NamedTuple):
    """A node: what it knows, the steps in its weights, its work for the open step, its last answer, its checkpoint."""

    state: Any
    weights: tuple[int, ...] = ()
    work: int = 0
    answer: Any = None
    saved: tuple[int, ...] = ()


class World(NamedTuple):
    """The driver's step, its own weights, links, journals; the nodes; what is on its way; faults left."""

    step: Any
    own: tuple[int, ...]
    links: tuple[Any, ...]
    journals: tuple[Any, ...]
    after: tuple[Any, ...]  # what a node is asked once it is restored
    peers: tuple[Peer, ...]
    asks: tuple[Any, ...] = ()  # (node, ask, steps of the journal), sorted
    answers: tuple[Any, ...] = ()  # (node, life, number, verdict or outcome)
    faults: int = 2
    broken: str = ""


def changed(items: tuple[Any, ...], at: int, item: Any) -> tuple[Any, ...]:
    return (*items[:at], item, *items[at + 1 :])


def without(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    at = items.index(item)
    return items[:at] + items[at + 1 :]


def added(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    return tuple(sorted((*items, item), key=repr))


class Model:
    """The moves of a world under a protocol, which may be one with a mistake in it."""

    def __init__(self, protocol: ModuleType, faults: int = 2) -> None:
        self.p = protocol
        self.faults = faults

    def begin(self) -> World:
        p = self.p
        n = len(NODES)
        # each node has begun its first life
        link = p.Link(number=1)
        peer = Peer(p.Participant(life=1, number=1))
        world = World(
            self.step(1),
            (),
            (link,) * n,
            (p.Journal(),) * n,
            (None,) * n,
            (peer,) * n,
            faults=self.faults,
        )
        return self.react(world)

    def step(self, number: int) -> Any:
        return self.p.JointStep(number, frozenset(NODES))

    # -- the driver ------------------------------------------------------------------------------------

    def react(self, world: World) -> World:
        """Whatever the driver does at once: decide, begin the next step, ask those who have nothing to answer."""
        step = world.step
        if step.ready and not step.decided:
            step = step.decide()
            journals = tuple(j.with_step(step.number) for j in world.journals)
            world = world._replace(step=step, own=(*world.own, step.number), journals=journals)
        if step.over:
            number = step.number + 1 if step.decided else step.number
            if number > STEPS:
                return world._replace(step=step)
            return self.react(world._replace(step=self.step(number)))
        for i, node in enumerate(NODES):
            if world.links[i].pending is None and (kind := self.next(world, i, node)) is not None:
                base = world.journals[i].version
                link = world.links[i].asked(kind, step.number, base)
                world = self.send(world._replace(links=changed(world.links, i, link)), i)
        return world

    def next(self, world: World, i: int, node: str) -> Any:
        kind = world.step.next(node)
        worked = world.after[i] == ("worked", world.step.number)
        return self.p.Request.WORK if kind is self.p.Request.VOTE and not worked else kind

    def send(self, world: World, i: int) -> World:
        """Send what is pending, again if need be; with what a new life needs."""
        ask = world.links[i].pending
        restoring = ask.kind is self.p.Request.RESTORE
        entry = (i, ask, world.journals[i] if restoring else None)
        return world._replace(asks=added(world.asks, entry))

    def hear(self, world: World, answer: Any) -> World:
        i, life, number, outcome = answer
        p, node, link, step = self.p, NODES[i], world.links[i], world.step
        world = world._replace(answers=without(world.answers, answer))
        if not link.accepts(life, number):
            return world
        ask = link.pending
        if outcome == "unknown":
            link = link.restarted(world.journals[i].version)
            after = changed(world.after, i, None)
            return self.send(world._replace(links=changed(world.links, i, link), after=after), i)
        world = world._replace(links=changed(world.links, i, link.answered()))
        if outcome == "broken":
            return world._replace(broken=f"{node} could not {ask.kind.name}")
        if ask.kind is p.Request.WORK:
            world = world._replace(after=changed(world.after, i, ("worked", step.number)))
        elif ask.kind is p.Request.VOTE:
            step = step.with_vote(node, outcome == "yes")
        elif ask.kind in (p.Request.COMMIT, p.Request.DROP):
            if ask.kind is p.Request.COMMIT and node == SAVES:  # told, once it is saved
                link = world.links[i].asked(p.Request.SAVE, step.number, step.number)
                return self.send(world._replace(links=changed(world.links, i, link)), i)
            step = step.with_told(node)
            world = world._replace(after=changed(world.after, i, None))
        elif ask.kind is p.Request.SAVE:
            journals = changed(world.journals, i, world.journals[i].with_save(step.number))
            step = step.with_told(node)
            world = world._replace(journals=journals, after=changed(world.after, i, None))
        return self.react(world._replace(step=step))

    # -- a node ----------------------------------------------------------------------------------------

    def meet(self, world: World, entry: Any, refuse: bool = False) -> World:
        """A message arrives."""
        p, (i, ask, journal) = self.p, entry
        peer = world.peers[i]
        verdict = peer.state.verdict(ask)
        if verdict is p.Verdict.STALE:
            return world
        if verdict is p.Verdict.UNKNOWN:
            outcome = "unknown"
        elif verdict is p.Verdict.REPEAT:
            outcome = peer.answer
        else:
            peer, outcome = self.perform(peer, ask, journal, refuse)
            world = world._replace(peers=changed(world.peers, i, peer))
        return world._replace(answers=added(world.answers, (i, ask.life, ask.number, outcome)))

    def perform(self, peer: Peer, ask: Any, journal: Any, refuse: bool) -> tuple[Peer, str]:
        kind, outcome, done = self.p.Request, "done", True
        weights, work, saved, state = peer.weights, peer.work, peer.saved, peer.state
        if ask.kind is kind.RESTORE:
            loaded = saved[-1] if saved else 0
            work = 0
            weights = (*saved, *journal.since(loaded)) if journal.holds(loaded) else (-1,)
        elif ask.kind is kind.WORK:
            work = ask.step
        elif ask.kind is kind.VOTE:
            done = state.can_vote(ask) and not refuse and work == ask.step
            outcome = "yes" if done else "no"
        elif ask.kind is kind.COMMIT:
            done = state.can_commit(ask)
            outcome = "done" if done else "broken"
            if done and state.applies(ask):
                weights = (*weights, work)
            work = 0
        elif ask.kind is kind.DROP:
            work = 0
        elif ask.kind is kind.SAVE:
            saved = weights
        state = state.after(ask, done) if ask.kind is not kind.RESTORE else state.after(ask)
        return Peer(state, weights, work, outcome, saved), outcome

    # -- moves -----------------------------------------------------------------------------------------

    def moves(self, world: World) -> Iterator[tuple[tuple[Any, ...], World]]:
        """Every move, and where it leads; those that need no fault come first."""
        left = world.faults
        met = dict.fromkeys(world.asks)
        for entry in met:
            i, ask, _ = entry
            rest = world._replace(asks=without(world.asks, entry))
            yield ("arrives", i, ask.kind.name, ask.number), self.meet(rest, entry)
            if left:
                fault = rest._replace(faults=left - 1)
                yield ("lost before", i, ask.kind.name, ask.number), fault
                yield (
                    ("doubled", i, ask.kind.name, ask.number),
                    self.meet(world._replace(faults=left - 1), entry),
                )
                if ask.kind is self.p.Request.VOTE:
                    yield ("refused", i, ask.kind.name, ask.number), self.meet(fault, entry, refuse=True)
        for answer in dict.fromkeys(world.answers):
            i, _, number, outcome = answer
            yield ("answered", i, outcome, number), self.hear(world, answer)
            if left:
                lost = world._replace(answers=without(world.answers, answer), faults=left - 1)
                yield ("lost after", i, outcome, number), lost
        for i, link in enumerate(world.links):
            ask = link.pending
            if ask is None:
                continue
            waiting = any(j == i and x == ask for j, x, _ in world.asks) or any(
                j == i and link.accepts(life, number) for j, life, number, _ in world.answers
            )
            if not waiting:
                yield ("sent again", i, ask.kind.name, ask.number), self.send(world, i)
            elif left:
                early = self.send(world._replace(faults=left - 1), i)
                yield ("late", i, ask.kind.name, ask.number), early
        if left:
            for i, peer in enumerate(world.peers):
                if peer.state.life:
                    dead = Peer(self.p.Participant(), saved=peer.saved)
                    yield (
                        ("died", i, "", 0),
                        world._replace(peers=changed(world.peers, i, dead), faults=left - 1),
                    )

    def wrong(self, world: World, stuck: bool) -> str | None:
        """What is broken in a state; `stuck`: no move that needs no fault leads on."""
        if world.broken:
            return world.broken
        if any(link.number > MESSAGES for link in world.links):
            return "D4: somebody goes on for ever"
        decided = world.own
        if decided != tuple(range(1, len(decided) + 1)):
            return "the driver has not taken each step once"
        for node, peer in zip(NODES, world.peers, strict=True):
            if not peer.state.life:
                continue  # dead: it shows nothing
            if peer.weights != tuple(range(1, len(peer.weights) + 1)):
                return f"D3: {node} has taken {peer.weights}"
            if len(peer.weights) > len(decided):
                return f"D2: {node} shows a step that is not decided"
            if peer.state.version != len(peer.weights):
                return f"{node} says step {peer.state.version} and has taken {peer.weights}"
        over = world.step.over and world.step.number == STEPS and world.step.decided
        pending = any(link.pending for link in world.links)
        if over and not pending:
            for node, peer, journal in zip(NODES, world.peers, world.journals, strict=True):
                if peer.state.life and peer.weights != decided:
                    return f"D2: {node} has {peer.weights} of {decided}"
                if peer.state.life and (peer.work or peer.state.staged):
                    return f"D5: {node} keeps something"
                if node == SAVES and journal.steps:
                    return f"D5: the journal of {node} keeps what is saved"
                loaded = peer.saved[-1] if peer.saved else 0
                if not journal.holds(loaded) or (*peer.saved, *journal.since(loaded)) != decided:
                    return f"{node} could not begin another life"
        elif stuck:
            return "D4: nothing goes on"
        return None


class Found(NamedTuple):
    """What an exploration has seen."""

    states: int
    traces: int
    wrong: str | None
    trace: tuple[tuple[Any, ...], ...]  # to what is wrong


def explore(model: Model) -> Found:
    """Go through all states breadth first; count the paths from the first to where nothing moves."""
    first = model.begin()
    came: dict[World, tuple[World, tuple[Any, ...]] | None] = {first: None}
    order, following = [first], {}
    for world in order:
        wrong = None
        try:
            leads = [*model.moves(world)]
            free = [w for move, w in leads if w.faults == world.faults]
            wrong = model.wrong(world, not free)
        except Exception as failure:  # a mistake may also break an assertion
            leads, wrong = [], f"{type(failure).__name__}: {failure}"
        if wrong is not None:
            return Found(len(order), 0, wrong, trace_to(world, came))
        following[world] = [w for _, w in leads]
        for move, w in leads:
            if w not in came:
                came[w] = world, move
                order.append(w)
    traces = count(first, following)
    return Found(len(order), traces, None if traces else "D4: somebody may go in circles for ever", ())


def trace_to(world: World, came: dict[Any, Any]) -> tuple[Any, ...]:
    moves = []
    while (before := came[world]) is not None:
        world, move = before
        moves.append(move)
    return tuple(reversed(moves))


def count(first: World, following: dict[World, list[World]]) -> int:
    """The number of paths from `first` to states without a move; 0 where one of them is a circle."""
    traces: dict[World, int] = {}
    stack = [(first, iter(following[first]))]
    around = {first}
    while stack:
        world, rest = stack[-1]
        for w in rest:
            if w in around:
                return 0
            if w not in traces:
                around.add(w)
                stack.append((w, iter(following[w])))
                break
        else:
            stack.pop()
            around.discard(world)
            traces[world] = sum(traces[w] for w in following[world]) or 1
    return traces[first]
