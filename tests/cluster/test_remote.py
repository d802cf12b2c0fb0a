"""Parts of a model elsewhere: the bits of one process, one step on all sides or none, whatever happens to messages."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import wengert as wg
from tests.cluster.experts import At, Expert, Left, Matrix, Rows, Settings, here, there
from wengert import nn
from wengert.cluster.links import Handle
from wengert.cluster.local import Fault, Local
from wengert.cluster.nodes import Nodes
from wengert.cluster.part import PartForward
from wengert.cluster.part import digest_of as digest
from wengert.cluster.steps import Steps, decided_in
from wengert.errors import ArgumentError, CheckpointError, CheckpointWriteError, NodeLostError, OutdatedError
from wengert.extend import Optimizer
from wengert.graph.store import STORE
from wengert.plugins import SGD, FailOnNonFinite

ONE = np.ones((1, 2), np.float32)


@pytest.fixture
def nodes() -> Any:
    made = Nodes(Local(workers=0))
    yield made
    made.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("wengert-part")]


# -- bits --------------------------------------------------------------------------------------------


def test_a_training_with_parts_elsewhere_has_the_bits_of_one_process() -> None:
    assert there(3) == here(3)


class Several(NamedTuple):
    sum: Matrix
    norm: wg.ArrayLayer[tuple[()], np.float32]


class Products:
    """Takes and gives products; its own structure depends on values."""

    def __init__(self, rate: float) -> None:
        self.scale = SGD(learning_rate=rate).array_weight(np.full(2, 0.5, np.float32), name="scale")

    def __call__(self, pair: tuple[Matrix, Matrix], *more: Matrix, rows: Any) -> Several:
        a = self.chosen(pair[0]) + pair[1]
        for x in more:
            a = a + wg.take(x, rows, axis=0)
        return Several(a * self.scale, wg.sum(wg.square(self.scale)))

    @wg.differentiable
    async def chosen(self, x: Matrix) -> Matrix:
        return x * self.scale if (await wg.sum(x)) > 0.0 else x * 2.0


def stepped(part: Any, w: Any, executor: Any) -> list[float]:
    losses = []
    for k in range(3):
        x = w * float(k - 1)
        found = part((x, wg.lift(ONE)), w * 3.0, rows=np.array([0]))
        losses.append(float((wg.sum(found.sum) + found.norm).train().run(executor)))
    return losses


@pytest.mark.parametrize(
    "executor", [wg.run.Sequential(), wg.run.Sequential(compiled=False), wg.run.Parallel(2)]
)
def test_products_cross_in_both_directions(nodes: Nodes, executor: Any) -> None:
    v, w = (SGD(learning_rate=0.1).array_weight(ONE, name="w") for _ in range(2))
    local, part = Products(0.1), nodes.node("p").place(Products, 0.1)
    assert stepped(local, v, executor) == stepped(part, w, executor)
    assert np.array_equal(v.data, w.data) and np.array_equal(part.weights()["scale"], local.scale.data)


def test_batched_runs_agree_up_to_rounding(nodes: Nodes) -> None:
    v, w = (SGD(learning_rate=0.1).array_weight(ONE, name="w") for _ in range(2))
    local, part = Products(0.1), nodes.node("p").place(Products, 0.1)
    assert np.allclose(stepped(local, v, wg.run.Batched()), stepped(part, w, wg.run.Batched()), rtol=1e-5)
    assert np.allclose(part.weights()["scale"], local.scale.data, rtol=1e-5)


def test_gradients_go_through_a_part_and_change_nothing_there(nodes: Nodes) -> None:
    local, part = Expert(1), nodes.node("a").place(Expert, 1)
    x = wg.lift(ONE)
    before = part.digest()
    for _ in range(2):
        expected = wg.gradients(wg.sum(local(x)), x).run()
        assert np.array_equal(wg.gradients(wg.sum(part(x)), x).run(), expected)
    assert part.digest() == before and part.version == 0


def test_trainings_and_gradients_of_one_run_are_kept_apart(nodes: Nodes) -> None:
    """A run with a training, a gradient and a prediction through one part takes the step of the training alone."""
    local, part = Expert(1), nodes.node("a").place(Expert, 1)
    for model in (local, part):
        x = wg.lift(ONE)
        y = model(x)
        trainings = wg.sum(y).train(), wg.mean(model(x * 2.0)).train()
        wg.gather(*trainings, wg.gradients(wg.sum(y * 5.0), x), y.predict()).run()
    assert part.digest() == digest(local) and part.version == 1


def test_parts_of_a_gather_are_asked_at_once(nodes: Nodes) -> None:
    """Behind an `await` the arguments are known, so both calls are sent before either is answered."""
    asked: list[str] = []
    a, b = (nodes.node(name).place(Expert, seed) for name, seed in (("a", 1), ("b", 2)))
    for part in (a, b):
        link = part._link
        work = link.work

        def listening(*args: Any, link: Any = link, work: Any = work, **named: Any) -> Any:
            asked.append(link.name)
            future = work(*args, **named)
            future.add_done_callback(lambda _: asked.append(link.name.upper()))
            return future

        link.work = listening  # type: ignore[method-assign] # it listens, too
    slow = threading.Event()
    a._link._thread.submit(slow.wait, 5.0)  # the first part answers only once the second has been asked
    b._link._thread.submit(slow.set)

    @wg.differentiable
    async def mixture(x: Matrix) -> Matrix:
        h = x * 2.0
        await h
        first, second = a(h), b(h)
        await wg.gather(first, second)
        return first + second

    assert mixture(wg.lift(ONE)).predict().run().shape == (1, 2)
    assert asked.index("b") < asked.index("A")


def test_an_unselected_expert_takes_no_step(nodes: Nodes) -> None:
    a, b = (nodes.node(name).place(Expert, seed) for name, seed in (("a", 1), ("b", 2)))

    @wg.differentiable
    async def gated(x: Matrix) -> Matrix:
        return a(x) if (await wg.sum(x)) > 0.0 else b(x)

    wg.sum(gated(wg.lift(ONE))).train().run()
    assert (a.version, b.version) == (1, 0)
    wg.sum(gated(wg.lift(-ONE))).train().run()
    wg.sum(gated(wg.lift(ONE))).train().run()
    assert (a.version, b.version) == (3, 2)


# -- faults ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sent() -> list[At]:
    found: list[At] = []
    there(1, sent=found)
    return found


@pytest.fixture(scope="module")
def undisturbed() -> Left:
    return here(2)


@pytest.mark.slow
def test_whatever_becomes_of_one_message_the_training_is_the_same(tmp_path: Path, undisturbed: Left) -> None:
    sent: list[At] = []
    assert there(2, sent=sent, folder=str(tmp_path)) == undisturbed
    for at, fault in product(sent, Fault):
        assert there(2, {at: fault}, folder=str(tmp_path)) == undisturbed, (at, fault)


def pairs(sent: list[At]) -> list[tuple[tuple[At, Fault], tuple[At, Fault]]]:
    """Faults of any two messages of a step, of those that are asked after both parts are placed."""
    single = [*product([at for at in dict.fromkeys(sent) if at[1] > 1], Fault)]
    return [pair for pair in combinations(single, 2) if pair[0][0] != pair[1][0]]


@pytest.mark.slow
def test_whatever_becomes_of_two_messages_the_step_is_the_same(sent: list[At]) -> None:
    expected = here(1)
    for n, (one, two) in enumerate(pairs(sent)):
        if n % 11 == 0:  # a number that shares no factor with the kinds of faults
            assert there(1, dict([one, two])) == expected, (one, two)


@pytest.mark.nightly
def test_whatever_becomes_of_any_two_messages_the_training_is_the_same(
    tmp_path: Path, undisturbed: Left
) -> None:
    sent: list[At] = []
    there(2, sent=sent, folder=str(tmp_path))
    for one, two in pairs(sent):
        assert there(2, dict([one, two]), folder=str(tmp_path)) == undisturbed, (one, two)


def test_a_fault_would_be_seen(undisturbed: Left) -> None:
    """The comparison can fail: a training with one step less leaves something else."""
    assert there(1) != undisturbed


def test_a_part_that_has_died_for_good_stops_the_step_on_all_sides() -> None:
    engine = Local(workers=0)
    nodes = Nodes(engine)
    first = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9)
    a, b = (nodes.node(name, restarts=1).place(Expert, seed) for name, seed in (("a", 1), ("b", 2)))
    loss = wg.sum(a(first(ONE)) * b(first(ONE)))
    loss.train().run()
    before = digest(first), a.digest()
    engine.kill("b")
    assert b.version == 1 and len(b.weights()) == 2  # another life, the last
    engine.kill("b")
    for _ in range(2):
        with pytest.raises(NodeLostError, match=r"node 'b' has died .* cluster.recover\(\)"):
            loss.train().run()
        assert (digest(first), a.digest()) == before and (a.version, b.version) == (1, 1)
    nodes.recover()
    loss.train().run()
    assert (a.version, b.version) == (2, 2)
    nodes.close()


def test_a_commit_that_is_never_acknowledged_is_carried_out_by_recover(sent: list[At]) -> None:
    commit = [at for at in sent if at[0] == "b"][5]
    engine_faults = {commit: Fault.DIED_BEFORE}
    count: dict[str, int] = {}

    def faults(message: Any) -> Fault | None:
        at = message.to, count.get(message.to, 0)
        count[message.to] = at[1] + 1
        return engine_faults.get(at)

    nodes = Nodes(Local(workers=0, faults=faults))
    first, x = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9), ONE
    a, b = (nodes.node(name).place(Expert, seed) for name, seed in (("a", 1), ("b", 2)))
    b._link._outlives = True  # with restarts, which are spent
    with pytest.raises(NodeLostError):
        wg.sum(a(first(x)) * b(first(x))).train().run()
    assert (a.version, b.version) == (1, 1)  # it is decided
    with pytest.raises(NodeLostError):
        wg.sum(a(first(x)) * b(first(x))).train().run()
    nodes.recover()
    local, la, lb = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9), Expert(1), Expert(2)
    wg.sum(la(local(x)) * lb(local(x))).train().run()
    assert (digest(first), a.digest(), b.digest()) == (digest(local), digest(la), digest(lb))
    nodes.close()


def test_a_node_without_restarts_keeps_nothing_and_says_so(tmp_path: Path) -> None:
    engine = Local(workers=0)
    nodes = Nodes(engine)
    part = nodes.node("a").place(Expert, 1)
    w = SGD(learning_rate=0.1).array_weight(ONE, name="w")
    for _ in range(3):
        wg.sum(part(w)).train().run()
    assert not part._link._steps and not part._link.journal.steps
    nodes.save(str(tmp_path), [w])
    before = part.digest()
    engine.kill("a")
    with pytest.raises(NodeLostError):
        part.digest()
    with pytest.raises(NodeLostError, match="load a checkpoint of all"):
        nodes.recover()
    nodes.load(str(tmp_path), [w])
    assert part.digest() == before
    nodes.close()


def test_a_closed_node_is_lost(nodes: Nodes) -> None:
    node = nodes.node("a")
    part = node.place(Expert, 1)
    node.close()
    with pytest.raises(NodeLostError, match="node 'a' is closed"):
        part(ONE).predict().run()


@pytest.mark.parametrize("end", ["kill", "node", "nodes", "engine"])
def test_a_part_that_ends_lets_go_of_runs_that_nobody_ended(end: str) -> None:
    engine = Local(workers=0)
    nodes = Nodes(engine)
    node = nodes.node("a", restarts=1)
    part, before = node.place(Expert, 1), {*STORE.readers}
    part._link.work("abandoned", PartForward("abandoned", 0, (ONE,), {}, keeps=True), True).result()
    assert len({*STORE.readers} - before) == 1
    ends: dict[str, Callable[[], None]] = {
        "kill": partial(engine.kill, "a"),
        "node": node.close,
        "nodes": nodes.close,
        "engine": engine.close,
    }
    ends[end]()
    assert {*STORE.readers} == before
    nodes.close()


def test_a_run_that_fails_is_ended_elsewhere_too(nodes: Nodes) -> None:
    part, before = nodes.node("a").place(Expert, 1), {*STORE.readers}
    w = SGD(learning_rate=0.1).array_weight(ONE, name="w")
    during: list[set[object]] = []

    @wg.differentiable
    async def failing(y: Matrix) -> Matrix:
        await y
        during.append({*STORE.readers} - before)
        raise LookupError("in a run")

    with pytest.raises(LookupError):
        wg.sum(failing(part(w))).train().run()
    part.digest()  # behind the message that the run has ended
    assert len(during[0]) == 2 and {*STORE.readers} == before  # of the driver, and of the part


@pytest.mark.slow
def test_many_steps_leave_nothing(tmp_path: Path) -> None:
    """D5, S13: what a driver keeps is bounded by the checkpoints, and no reader, call or thread is left."""
    engine = Local(workers=0)
    nodes = Nodes(engine)
    part = nodes.node("a", restarts=1, checkpoint=str(tmp_path), checkpoint_every=20).place(Expert, 1)
    readers, threads = len(STORE.readers), threading.active_count()
    w = SGD(learning_rate=0.1).array_weight(ONE, name="w")
    grown = list[int]()
    gc.collect()
    for k in range(200):
        wg.sum(part(w)).train().run()
        if k % 50 == 49:
            gc.collect()
            grown.append(len(gc.get_objects()))
    assert (
        len(part._link._steps) < 20 and len(STORE.readers) == readers and threading.active_count() <= threads
    )
    assert grown[-1] - grown[1] < 200, grown
    nodes.close()


class Guarded(FailOnNonFinite, SGD): ...


class Root:
    """Its derivative is infinite at 0, which its optimizer refuses."""

    def __init__(self) -> None:
        self.w = Guarded(learning_rate=0.1).array_weight(np.zeros(2, np.float32), name="w")

    def __call__(self, x: Rows) -> Matrix:
        if wg.lift(x).shape == (3, 3):
            raise KeyError("three")
        return x * wg.sqrt(self.w)


def test_a_refusal_there_is_one_here_and_nothing_has_changed(nodes: Nodes) -> None:
    a, root = nodes.node("a").place(Expert, 1), nodes.node("root").place(Root)
    v = SGD(learning_rate=0.1).array_weight(ONE, name="v")
    before = a.digest(), root.digest()
    with pytest.raises(wg.errors.NonFiniteError, match="not finite") as caught:
        (wg.sum(a(v)) + wg.sum(root(v))).train().run()
    assert "on node 'root'" in caught.value.__notes__
    assert (a.digest(), root.digest()) == before and np.array_equal(v.data, ONE)
    assert (a.version, root.version) == (0, 0)
    wg.sum(a(v)).train().run()
    assert a.version == 1


def test_an_error_keeps_its_type_its_line_and_says_where(nodes: Nodes) -> None:
    root = nodes.node("root").place(Root)
    with pytest.raises(KeyError, match="three") as caught:
        root(np.ones((3, 3), np.float32)).predict().run()
    assert "on node 'root'" in caught.value.__notes__
    with pytest.raises(wg.errors.ShapeError) as shape:
        wg.sum(root(np.ones((1, 5), np.float32))).train().run()
    assert any("test_remote.py" in note for note in shape.value.__notes__)
    a = nodes.node("a").place(Expert, 1)
    bad = np.ones((1, 5), np.float32)
    with pytest.raises(ExceptionGroup) as several:
        wg.gather(a(bad).predict(), root(bad).predict()).run()
    assert {note for e in several.value.exceptions for note in e.__notes__} >= {
        "on node 'a'",
        "on node 'root'",
    }


def test_a_driver_that_refuses_drops_what_others_have_voted_for(nodes: Nodes) -> None:
    """The driver's own optimizer fails after all votes."""
    a = nodes.node("a").place(Expert, 1)
    guarded = Guarded(learning_rate=0.1).array_weight(np.zeros((1, 2), np.float32), name="w")
    before = a.digest()
    with pytest.raises(wg.errors.NonFiniteError):
        wg.sum(a(wg.sqrt(guarded))).train().run()
    assert a.digest() == before and a.version == 0
    assert np.array_equal(guarded.data, np.zeros((1, 2)))


def test_nothing_is_left_after_steps(nodes: Nodes) -> None:
    """D5: no call, no stage, no journal entry that a checkpoint has."""
    engine = nodes._engine
    part = nodes.node("a").place(Expert, 1)
    for _ in range(5):
        wg.sum(part(ONE)).train().run()
        part(ONE).predict().run()
    there_now = engine._places["a"].made[0]  # type: ignore[attr-defined] # of the engine in this process
    part.weights()  # answered after all before it
    assert not there_now.runs and there_now._staged is None and not part._link.open
    assert engine.unanswered == 0  # type: ignore[attr-defined] # as above


def test_a_run_that_began_before_a_training_is_told(nodes: Nodes) -> None:
    part = nodes.node("a").place(Expert, 1)

    def train_meanwhile(_: object) -> wg.Do[Any]:
        wg.sum(part(ONE)).train().run()
        return part(ONE).predict()

    with pytest.raises(OutdatedError, match="began at step 0 of a part that shows step 1"):
        wg.predict(wg.lift(1.0)).flat_map(lambda _: part(ONE).predict().flat_map(train_meanwhile)).run()


# -- what is no part of a model ----------------------------------------------------------------------


def test_a_description_runs_there(nodes: Nodes) -> None:
    node = nodes.node("n")
    assert node(wg.Do.now(20).map(lambda n: n + 1)).run() == 21
    with pytest.raises(ZeroDivisionError) as caught:
        node(wg.Do.delay(lambda: 1 // 0)).run()
    assert "on node 'n'" in caught.value.__notes__


def test_a_value_stays_there_for_its_scope_and_outlives_its_process() -> None:
    engine = Local(workers=0)
    nodes = Nodes(engine)
    node = nodes.node("n", restarts=1)

    def used(handle: Handle[list[int]]) -> wg.Do[int]:
        engine.kill("n")
        return handle.map(len).flat_map(lambda n: handle.get().map(lambda x: n + sum(x)))

    assert node.keep(wg.Do.delay(lambda: [1, 2, 3])).flat_map(used).run() == 9
    assert not node._link.kept
    nodes.close()


# -- bad input ---------------------------------------------------------------------------------------


def test_what_cannot_cross_is_refused_with_its_name(nodes: Nodes) -> None:
    part = nodes.node("a").place(Expert, 1)
    with pytest.raises(ArgumentError, match=r"parameter 'x' got \[1\] \(list\), which does not cross"):
        part([1])  # type: ignore[arg-type] # refused by checkers, too
    with pytest.raises(ArgumentError, match="parameter 'scale' got"):
        part(ONE, object())  # type: ignore[arg-type] # as above
    with pytest.raises(ArgumentError, match="unexpected keyword argument 'scal'"):
        part(ONE, scal=1.0)  # type: ignore[call-arg] # as above


def test_a_node_has_a_name_and_one_part(nodes: Nodes) -> None:
    node = nodes.node("a")
    for bad in ("a", "", "driver", "x/y"):
        with pytest.raises(ArgumentError, match="a name of its own"):
            nodes.node(bad)
    with pytest.raises(ArgumentError, match="restarts is at least 0"):
        nodes.node("b", restarts=-1)
    node.place(Expert, 1)
    with pytest.raises(ArgumentError, match="node 'a' has Expert already"):
        node.place(Expert, 1)


class Union:
    def __call__(self, x: Rows) -> Matrix | None:
        return wg.lift(x)


def test_a_part_gives_layers(nodes: Nodes) -> None:
    with pytest.raises(ArgumentError, match="a union, or None"):
        nodes.node("a").place(Union)


# -- checkpoints of everything -----------------------------------------------------------------------


def begun(nodes: Nodes) -> tuple[Any, Any, Any]:
    first = nn.Linear.make(Settings(learning_rate=0.01), 2, 2, seed=9)
    return first, nodes.node("a", restarts=1).place(Expert, 1), nodes.node("b").place(Expert, 2)


def steps(parts: tuple[Any, Any, Any], count: int) -> None:
    first, a, b = parts
    for _ in range(count):
        wg.sum(wg.square(a(first(ONE)) + b(first(ONE)))).train().run()


def test_a_folder_has_everything_of_one_step(tmp_path: Path) -> None:
    folder = str(tmp_path / "all")
    nodes = Nodes(Local(workers=0))
    parts = begun(nodes)
    steps(parts, 2)
    nodes.save(folder, parts[0], step=2, seed=7)
    steps(parts, 2)
    expected = digest(parts[0]), parts[1].digest(), parts[2].digest()
    assert decided_in(f"{folder}/decided.jsonl") == 4
    nodes.close()

    engine = Local(workers=0)
    others = Nodes(engine)
    again = begun(others)
    steps(again, 1)  # what a resume takes the place of
    found = others.load(folder, again[0])
    assert (found.step, found.seed) == (2, 7) and again[1].version == 2
    engine.kill("a")  # its next life begins with the folder
    steps(again, 2)
    assert (digest(again[0]), again[1].digest(), again[2].digest()) == expected
    others.save(folder, again[0])
    assert len([x for x in (tmp_path / "all").iterdir() if x.suffix == ".safetensors"]) == 3
    others.close()


def test_a_folder_that_is_broken_is_refused(tmp_path: Path) -> None:
    nodes = Nodes(Local(workers=0))
    parts = begun(nodes)
    with pytest.raises(CheckpointError, match="no manifest"):
        nodes.load(str(tmp_path), parts[0])
    nodes.save(str(tmp_path), parts[0])
    nodes.node("c").place(Expert, 3)
    with pytest.raises(CheckpointError, match="has nothing for 'c'"):
        nodes.load(str(tmp_path), parts[0])
    (of_a,) = tmp_path.glob("a-*.safetensors")
    of_a.write_bytes(of_a.read_bytes()[:-1])
    before = digest(parts[0])
    with pytest.raises(CheckpointError, match=r"is not the file that .* names for 'a'"):
        nodes.load(str(tmp_path), parts[0])
    assert digest(parts[0]) == before
    nodes.close()


# -- between the votes and the end -------------------------------------------------------------------


class Breaks(Optimizer[object]):
    """Fails after all votes, in its own step."""

    def step(self, delta: Any, weight: Any) -> Any:
        raise RuntimeError("a broken step")


def test_a_step_that_fails_here_after_all_votes_is_withdrawn(tmp_path: Path, nodes: Nodes) -> None:
    part = nodes.node("a").place(Expert, 1)
    good = SGD(learning_rate=0.1).array_weight(ONE, name="good")
    bad = wg.ArrayWeight(ONE, (), Breaks(object()), "bad")
    nodes.save(str(tmp_path), [good])
    wg.sum(part(good)).train().run()
    before = digest([good]), part.digest()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="a broken step"):
            wg.sum(part(good) * bad).train().run()
        assert (digest([good]), part.digest()) == before and part.version == 1
        assert decided_in(f"{tmp_path}/decided.jsonl") == 1
    wg.sum(part(good)).train().run()
    assert part.version == decided_in(f"{tmp_path}/decided.jsonl") == 2


def test_an_interrupt_after_the_decision_does_not_stop_it(
    monkeypatch: pytest.MonkeyPatch, nodes: Nodes
) -> None:
    local, part = Expert(1), nodes.node("a", restarts=1).place(Expert, 1)
    interrupts = [KeyboardInterrupt()]
    commit = Steps.commit

    def interrupted(steps: Steps) -> None:
        if interrupts:
            raise interrupts.pop()
        commit(steps)

    monkeypatch.setattr(Steps, "commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        wg.sum(part(ONE)).train().run()
    wg.sum(local(ONE)).train().run()
    assert part.version == 1 and part.digest() == digest(local)
    for model in (local, part):
        wg.sum(model(ONE)).train().run()
    assert part.digest() == digest(local)


def test_a_log_that_cannot_be_written_takes_no_step(tmp_path: Path, nodes: Nodes) -> None:
    part = nodes.node("a").place(Expert, 1)
    w = SGD(learning_rate=0.1).array_weight(ONE, name="w")
    nodes.save(str(tmp_path), [w])
    (tmp_path / "decided.jsonl").unlink()
    (tmp_path / "decided.jsonl").mkdir()
    before = digest([w]), part.digest()
    with pytest.raises(CheckpointWriteError, match="the step has not been taken"):
        wg.sum(part(w)).train().run()
    assert (digest([w]), part.digest()) == before and part.version == 0
    (tmp_path / "decided.jsonl").rmdir()
    wg.sum(part(w)).train().run()
    assert part.version == 1


def test_a_prediction_beside_trainings_sees_all_of_a_step_or_none_of_it(nodes: Nodes) -> None:
    """S10: of one weight here there is one value there; a run that is too late says so."""
    part = nodes.node("a").place(Expert, 1)
    w = SGD(learning_rate=0.1).array_weight(ONE, name="w")
    seen: list[tuple[bytes, bytes]] = []
    over = threading.Event()

    def predicting() -> None:
        while not over.is_set() or not seen:
            with suppress(OutdatedError):
                here, there = wg.predict((w, part(w))).run()
                seen.append((here.tobytes(), there.tobytes()))

    thread = threading.Thread(target=predicting)
    thread.start()
    for _ in range(40):
        wg.sum(wg.square(part(w))).train().run()
    over.set()
    thread.join(60.0)
    assert part.version == 40 and seen and len({here for here, _ in seen}) == len({*seen})
