"""Branches of the interpreters that the tests of promises do not come by: refusals, full tables, and odd moments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, cast

import numpy as np
import pytest

import wengert as wg
from tests.run.counting import Boom, failing
from tests.run.planned import eager, plain
from tests.run.test_tapes import by_hand, weight
from wengert import Do, DoubleLayer, Tape, UnitContinuation
from wengert.errors import DTypeError, ShapeError, TapeReleasedError
from wengert.extend import Optimizer
from wengert.graph.store import Ref, Store
from wengert.plugins import SGD
from wengert.run.loops import backward, forward

SETTINGS = SGD(learning_rate=0.5)


class Own:
    """A value of a user's, with a tape of its own."""

    def __init__(self, do: Do[Tape[float, float]]) -> None:
        self.do = do


@wg.register(Own)
def own(x: Own) -> Do[Tape[float, float]]:
    return x.do


def asking(delta: Do[float]) -> UnitContinuation[None]:
    """The backward of a tape that wants to know its delta."""
    return UnitContinuation.delay(delta.run).map(lambda _: None)


class Stopped:
    """Nodes that a signal of the user's comes before."""

    def __iter__(self) -> Iterator[Any]:  # Any: nodes
        raise TimeoutError("too late")

    def __reversed__(self) -> Iterator[Any]:  # Any: nodes
        yield from self


class TestLoops:
    def test_what_comes_before_the_first_node_is_nobodys_failure(self) -> None:
        nodes = cast(list[Any], Stopped())  # Any: nodes
        with pytest.raises(TimeoutError):
            forward(nodes, {}, {})
        with pytest.raises(TimeoutError):
            backward(nodes, {}, {}, [])

    def test_a_derivative_that_fails_when_a_tape_asks_for_it_says_where(self) -> None:
        layer = DoubleLayer(Do.now(Tape(2.0, asking)))
        with pytest.raises(Boom) as failure:
            failing(backward=True)(layer).train().run()
        assert failure.value.__notes__[0].startswith("in backward of failing_backward(")


class TestTapes:
    def test_a_value_that_failed_in_one_place_fails_in_the_other(self) -> None:
        value: Any = Own(Do.fail(Boom("own")))  # Any: only the mypy plugin knows
        with pytest.raises(Boom, match="own"):
            wg.predict((wg.multiply(value, 1.0), wg.multiply(value, 2.0))).run()

    def test_a_delta_for_a_node_whose_turn_has_passed_is_refused(self) -> None:
        taken: list[Tape[float, float]] = []
        w = weight(3.0)

        def keep(tape: Tape[float, float]) -> Tape[float, float]:
            taken.append(tape)
            return tape

        early = DoubleLayer(Do.now(Tape(1.0, lambda delta: taken[0].backward(delta))))
        late = DoubleLayer((w * 2.0).forward.map(keep))
        with pytest.raises(TapeReleasedError, match="after its turn had passed"):
            (early + late).train().run()
        assert w.data == 3.0

    def test_a_delta_that_fails_is_the_failure_of_the_node_it_was_sent_to(self) -> None:
        """By the interpreter, and where the nodes between binds are run as straight-line code."""

        def failing_delta(tape: Tape[float, float]) -> Tape[float, float]:
            return Tape(
                tape.data, lambda delta: tape.backward(delta.flat_map(lambda _: Do.fail(Boom("sent"))))
            )

        for executor in (plain(), eager(worth=0)[0]):
            w = weight(2.0)
            for _ in range(6):
                loss = DoubleLayer((wg.exp(w * 0.5) * 2.0).forward.map(failing_delta)) * 3.0
                with pytest.raises(Boom) as failure:
                    loss.train().run(executor)
                assert any("backward of multiply" in note for note in failure.value.__notes__)
            assert w.data == 2.0

    def test_by_hand_a_delta_has_the_shape_and_the_dtype_of_the_data(self) -> None:
        w = SETTINGS.array_weight(np.ones(3, np.float32))

        def sent(delta: Any) -> None:  # Any: mistakes
            def send(tape: Tape[Any, Any]) -> Do[None]:  # Any: as above
                return Do.delay(lambda: tape.backward(Do.now(delta)).run())

            (w * 1.0).forward.flat_map(send).run()

        with pytest.raises(ShapeError, match=r"a delta of shape \(2,\)"):
            sent(np.ones(2, np.float32))
        with pytest.raises(DTypeError, match="a delta of float64"):
            sent(np.ones(3, np.float64))
        assert w.data.tolist() == [1.0, 1.0, 1.0]

    def test_a_tape_that_is_asked_for_after_a_value_trains_on_what_was_read(self) -> None:
        w = weight(2.0)
        (w * 2.0).as_do().flat_map(lambda _: by_hand(w * 3.0, Do.now(1.0))).run()
        assert w.data == -1.0

    def test_by_hand_within_a_training_is_part_of_it_and_waits_for_nobody(self) -> None:
        v, w = weight(2.0), weight(3.0)

        def inner() -> Tape[float, float]:
            return Tape(by_hand(v * 2.0, Do.now(1.0)).run(), asking)

        assert (DoubleLayer(Do.delay(inner)) * w).train().run() == 12.0
        assert (v.data, w.data) == (0.0, -1.0)


class TestCommit:
    @pytest.mark.parametrize(("method", "after"), [("staged", 1.0), ("committed", 0.5)])
    def test_an_optimizer_that_fails_beside_its_step(self, method: str, after: float) -> None:
        """Before the commit nothing has changed; after it everything has."""

        class Failing(Optimizer):
            def step(self, delta: Any, weight: Any) -> Any:  # Any: every column
                return delta * 0.5

        def fail(*given: object) -> object:
            raise Boom(method)

        class Settings(SGD):
            optimizer: ClassVar[type[Optimizer]] = type("Broken", (Failing,), {method: fail})

        w = Settings(learning_rate=1.0).double_weight(1.0)
        with pytest.raises(Boom, match=method):
            (w * 1.0).train().run()
        assert w.data == after

    def test_what_a_change_leaves_as_it_is_stays_for_those_who_read(self) -> None:
        store, of = Store(), Ref(np.ones(2))
        data, reader = of.data, object()
        before = store.begin(reader)
        store.publish(store.begin(store), [(of, lambda data, in_place: (data, []))])
        assert of.data is data and of.at(before) is data
        assert (store.version, store.moved) == (1, 0)
