"""S11: writing to a buffer between forward and backward is refused or harmless; no derivative is wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import wengert as wg
from tests.optimizers import WithAdam, WithMomentum
from wengert import Do
from wengert.plugins import SGD

from .attempts import ATTEMPTS, Array, Attempt, Layer, Scene, host, spoil


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.__name__)
class TestS11ValuesAreValues:
    def test_training_takes_the_right_step(self, attempt: Attempt) -> None:
        scene = Scene()
        loss = attempt(scene)
        assert loss.train().run() == 6.0
        assert scene.w.data.tolist() == [-1.0, -3.0, -5.0]

    def test_gradients_are_right(self, attempt: Attempt) -> None:
        scene = Scene()
        loss = attempt(scene)
        (delta,) = wg.gradients(loss, (scene.w,)).run()
        assert host(delta).tolist() == [2.0, 4.0, 6.0]


class TestSpoil:
    """The attempts' own tool works: what nobody protects is spoilt."""

    @pytest.mark.parametrize(
        "make", [lambda: np.ones(3), lambda: np.ones((2, 3))[1], lambda: np.ones(6)[::2]]
    )
    def test_an_ordinary_array(self, make: Callable[[], Array]) -> None:
        array = make()
        spoil(array)
        assert (array != 1.0).all()

    def test_a_flag_that_its_owner_can_take_back(self) -> None:
        array = np.ones(3)
        array.flags.writeable = False
        spoil(array)
        assert (array != 1.0).all()


class TestViewsAndCommits:
    """What was shown of a weight never changes, and what was given away changes no weight."""

    def test_data_shown_before_a_commit_stays(self) -> None:
        scene = Scene()
        shown = scene.w.data
        inside: list[Array] = []

        @wg.differentiable
        async def network(h: Layer) -> Layer:
            inside.append(await scene.w)
            inside.append(await scene.w[1:])
            return h

        scene.inside = network
        scene.loss().train().run()
        assert shown.tolist() == [1.0, 1.0, 1.0]
        assert inside[0].tolist() == [1.0, 1.0, 1.0]
        assert inside[1].tolist() == [1.0, 1.0]
        assert scene.w.data.tolist() == [-1.0, -3.0, -5.0]

    def test_the_data_of_a_tape_stays_after_the_commit(self) -> None:
        scene = Scene()
        tape_data = scene.w.forward.flat_map(
            lambda tape: Do.delay(lambda: tape.backward(Do.now(np.ones(3))).run()).map(lambda _: tape.data)
        ).run()
        assert host(tape_data).tolist() == [1.0, 1.0, 1.0]
        assert scene.w.data.tolist() == [0.0, 0.0, 0.0]

    @pytest.mark.parametrize("settings", [SGD(learning_rate=1.0), WithMomentum(learning_rate=1.0)])
    def test_a_delta_handed_in_belongs_to_its_owner(self, settings: SGD | WithMomentum) -> None:
        w = settings.array_weight(np.ones(3))
        mine = np.full(3, 2.0)
        w.forward.flat_map(lambda tape: Do.delay(lambda: tape.backward(Do.now(mine)).run())).run()
        assert mine.tolist() == [2.0, 2.0, 2.0]
        before = w.data.tolist()
        mine[:] = 50.0
        assert w.data.tolist() == before
        wg.sum(w).train().run()
        assert mine.tolist() == [50.0, 50.0, 50.0]
        assert max(w.data.tolist()) < 0.0

    def test_the_loss_of_a_training_is_no_view_of_the_weight(self) -> None:
        w = SGD(learning_rate=1.0).array_weight(np.array(5.0, np.float64))
        loss = w.train().run()
        assert float(loss) == 5.0
        assert float(w.data) == 4.0
        v = SGD(learning_rate=1.0).array_weight(np.array([7.0], np.float64))
        loss2 = wg.reshape(v, ()).train().run()
        assert float(loss2) == 7.0

    def test_the_delta_of_one_weight_is_the_data_of_another(self) -> None:
        """Both updates use the values before the commit, in whatever order they are carried out."""
        a = SGD(learning_rate=1.0).array_weight(np.array([[1.0, 2.0], [3.0, 4.0]], np.float64))
        b = SGD(learning_rate=1.0).array_weight(np.array([[5.0, 6.0], [7.0, 8.0]], np.float64))
        a0, b0 = a.data.copy(), b.data.copy()
        ones = np.ones((2, 2))
        for _ in range(2):
            wg.sum(a @ b).train().run()
            a0, b0 = a0 - ones @ b0.T, b0 - a0.T @ ones
            assert a.data.tolist() == a0.tolist()
            assert b.data.tolist() == b0.tolist()

    def test_an_in_place_update_of_a_weight_whose_delta_reads_itself(self) -> None:
        a = SGD(learning_rate=1.0).array_weight(np.array([[1.0, 2.0], [3.0, 4.0]], np.float64))
        a0, ones = a.data.copy(), np.ones((2, 2))
        wg.sum(a @ a).train().run()
        assert a.data.tolist() == (a0 - ones @ a0.T - a0.T @ ones).tolist()

    def test_optimizer_state_is_never_changed_in_place(self) -> None:
        w = WithAdam(learning_rate=0.1).array_weight(np.ones(3))
        wg.sum(w * w).train().run()
        kept = {k: (v, np.array(v)) for k, v in vars(w.optimizer).items() if isinstance(v, np.ndarray)}
        assert kept
        wg.sum(w * w).train().run()
        for value, copy in kept.values():
            assert value.tolist() == copy.tolist()
