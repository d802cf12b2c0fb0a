"""Every example runs, and finds what it says it finds.

Knows: the bounds and equalities that the paper's listings are to keep.
Refuses to know: how an example is written.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wengert as wg
from wengert.plugins import SGD

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
Quiet = pytest.CaptureFixture[str]


def example(name: str) -> Any:  # Any: a module has no static type here
    """The module of one example, imported by path once."""
    known = f"wengert_example_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, EXAMPLES / f"{name}.py")
        assert spec is not None and spec.loader is not None
        module: ModuleType = importlib.util.module_from_spec(spec)
        sys.modules[known] = module
        spec.loader.exec_module(module)
    return sys.modules[known]


@pytest.mark.parametrize("name", NAMES)
def test_examples_say_what_they_are_and_have_a_main(name: str) -> None:
    module = example(name)
    assert module.__doc__ and callable(module.main)


@pytest.mark.parametrize("seed", range(5))
def test_the_robot_guesses_the_next_number(seed: int) -> None:  # D91, D93 to D97
    module = example("guess_next_number")
    robot = module.Robot(seed)
    before = [w.data for w in robot.weights]
    first = robot.guess(module.NEW).predict().run()
    assert [w.data for w in robot.weights] == before
    assert first == pytest.approx(float(np.dot(before, module.NEW)))
    assert max(module.train(robot)) < 0.4
    assert abs(robot.guess(module.NEW).predict().run() - 45.0) < 1.0


def test_the_papers_two_questions_alone_leave_the_answer_open() -> None:  # D97
    module = example("guess_next_number")
    answers = []
    for seed in range(5):
        robot = module.Robot(seed)
        losses = [module.linear_regression(robot, q) for q in module.QUESTIONS[:2]]
        for _ in range(500):
            for loss in losses:
                loss.train().run()
        answers.append(robot.guess(module.NEW).predict().run())
    assert min(answers) > 46.0 and max(answers) - min(answers) > 5.0


def test_guess_next_number_runs(capsys: Quiet) -> None:
    assert abs(example("guess_next_number").main() - 45.0) < 1.0
    assert "trained robot says 45.0" in capsys.readouterr().out


def test_poly_fn_has_one_value_in_all_mixes() -> None:  # D49, D107
    module = example("poly_fn")
    mixes = dict(module.all_mixes())
    assert len(mixes) == 81
    assert {type(layer) for layer in mixes.values()} == {wg.DoubleLayer}
    assert module.main() == {41.0}


def test_poly_fn_trains_the_weights_of_a_mix() -> None:
    module = example("poly_fn")
    forms = [module.three_forms(v) for v in (2.0, 3.0, 5.0, 7.0)]
    a, d = forms[0]["weight"], forms[3]["weight"]
    module.poly_fn(a, forms[1]["literal"], forms[2]["layer"], d).train().run()
    assert (a.data, d.data) == (pytest.approx(2.0 - 0.1 * 3.0), pytest.approx(7.0 - 0.1 * 5.0))


@pytest.mark.parametrize("depth", [1, 10, 1000])
def test_diamonds_cost_their_nodes_not_their_paths(depth: int) -> None:  # S2
    assert example("diamond").main(depth) == {"forward": depth, "backward": depth}


def states(net: Any) -> list[Any]:  # Any: the example's own class
    """Every weight and what its optimizer remembers, as plain data."""
    return [
        [
            w.data.tolist(),
            {k: np.asarray(v).tolist() for k, v in vars(w._optimizer).items() if not k.endswith("settings")},
        ]
        for w in net.weights()
    ]


def test_the_four_gated_styles_train_bit_for_bit_alike() -> None:  # D44
    module = example("gated")
    trained = {}
    for name, style in module.STYLES.items():
        net = module.Gated()
        trained[name] = (module.train(style, net, rounds=4), states(net))
    assert all(result == trained["direct"] for result in trained.values())


COUNTS = {
    "naive": {"input": 3, "gate": 3},
    "monadic": {"input": 1, "gate": 1},
    "applicative": {"input": 1, "gate": 1},
    "direct": {"input": 1, "gate": 1},
}


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("better", ["left", "right", "neither"])
def test_only_the_better_sub_network_runs_and_learns(name: str, better: str) -> None:  # D39 to D41, D43, D44
    module = example("gated")
    net = scored(module, better)
    chosen = "left" if better == "left" else "right"  # equal scores choose right
    before = states(net)
    x = np.array([1.0, -0.5, 0.25, 2.0], np.float32)
    module.CALLS.clear()
    module.square_loss(module.STYLES[name](net, module.in_input(x)), np.zeros(3, np.float32)).train().run()
    assert dict(module.CALLS) == {**COUNTS[name], chosen: 1}
    changed = {w.name for w, old, new in zip(net.weights(), before, states(net), strict=True) if old != new}
    expected = {"l", "left"} if chosen == "left" else {"r", "right"}
    assert changed == {*expected, "gate"}  # a delta of zero is a delta: it reaches the optimizer (D127)


def scored(module: Any, better: str) -> Any:  # Any: the example's module and class
    """A network whose gate gives the better sub-network a score of about 1, the other one 0; or 0 to both."""
    net = module.Gated()
    settings = module.Settings(learning_rate=0.1)
    sees = np.array([1.0, 0.0, 0.0, 0.0], np.float32)
    nothing = np.zeros(4, np.float32)
    net.left_score = settings.array_weight(sees if better == "left" else nothing, name="l")
    net.right_score = settings.array_weight(sees if better == "right" else nothing, name="r")
    net.gate = settings.array_weight(np.eye(4, dtype=np.float32), name="gate")
    return net


def test_the_mixed_network_runs_both_sub_networks() -> None:  # D42, without the threads
    module = example("gated")
    module.CALLS.clear()
    x = module.in_input(np.ones(4, np.float32))
    module.parallel_by_default(module.Gated(), x).predict().run()
    assert module.CALLS == {"input": 1, "gate": 1, "left": 1, "right": 1}


def test_gated_runs_and_learns(capsys: Quiet) -> None:
    losses = example("gated").main()
    assert all(np.mean(found[-16:]) < 0.5 * np.mean(found[:16]) for found in losses.values())
    assert "had the same losses" in capsys.readouterr().out


numbers = st.floats(-1e6, 1e6)


@given(numbers, numbers, numbers, numbers, numbers)
def test_pushes_add_and_scale(s: float, t: float, x: float, a: float, scale: float) -> None:  # D112
    module = example("from_dual_numbers")
    f: Callable[[float], float] = lambda v: s * v  # noqa: E731 # two lines of `def` each would say less
    g: Callable[[float], float] = lambda v: t * v + a  # noqa: E731 # as above
    assert module.pushes_add(f, g)(x) == f(x) + g(x)
    assert module.push_scaled(scale, f)(x) == f(scale * x)


@given(numbers, numbers)
def test_closures_agree_with_dual_numbers(x: float, c: float) -> None:  # D108 to D111
    m = example("from_dual_numbers")
    dual = m.dual_add(m.dual_multiply(m.Dual(x, 1.0), m.Dual(c, 0.0)), m.Dual(x, 1.0))
    variable, constant = m.Closure(x, lambda v: v), m.Closure(c, lambda v: 0.0)
    closure = m.closure_add(m.closure_multiply(variable, constant), variable)
    assert closure.data == dual.data and closure.push(1.0) == pytest.approx(dual.delta)


def test_dual_numbers_of_the_paper() -> None:  # D109
    m = example("from_dual_numbers")
    assert m.dual_multiply(m.Dual(3.0, 1.0), m.Dual(4.0, 0.0)) == (12.0, 4.0)


def test_an_effect_does_nothing_until_it_is_run() -> None:  # D113, D114
    m = example("from_dual_numbers")
    w = m.Learning(3.0, rate=0.5)
    constant = m.Effect(4.0, lambda x: wg.UnitContinuation.now(None))
    described = m.effect_multiply(w.effect(), constant).change(1.0)
    assert w.data == 3.0
    described.run()
    assert w.data == 3.0 - 0.5 * 4.0


def test_a_literal_never_asks_for_its_delta() -> None:  # D115
    m = example("from_dual_numbers")
    asked: Any = m.Counter()  # Any: the example's module has no static type here
    m.backward(m.tape_multiply(m.Learning(3.0).tape(), m.literal(4.0), asked))
    assert asked == {"left": 1}


def test_a_tree_reaches_each_weight_once() -> None:  # D116
    m = example("from_dual_numbers")
    weights = m.tree(3.0)
    assert [w.reached for w in weights] == [1, 1, 1, 1]
    assert [w.total for w in weights] == [3.0, 3.0, 3.0, 3.0]


def test_closures_walk_every_path_wengert_sums_first() -> None:  # D118
    closures, wengert = example("from_dual_numbers").main()
    assert (closures.times, wengert.times) == (4, 1)
    assert closures.total == wengert.total == 108.0
    assert closures.data == pytest.approx(wengert.data)


def test_own_types(capsys: Quiet) -> None:  # D50, D54, D55
    learned, vectors, line, pair = example("own_types").main()
    assert learned == pytest.approx(6 / 7)
    rows = {word: vectors.vector(word).tolist() for word in vectors.rows}
    assert rows["two"] == rows["four"] == [1.0, 1.0]
    assert rows["one"] == rows["three"] == pytest.approx([0.9, 0.9])
    assert (line.slope, line.height) == (pytest.approx(2.0, abs=1e-6), pytest.approx(3.0, abs=1e-6))
    assert pair == (2.5, 1.5625)


def test_a_word_looked_up_twice_gets_both_deltas() -> None:  # D54: equal indices add up
    module = example("own_types")
    vectors = module.Table(["one", "two"], size=2)
    words = module.table(vectors)
    once, again = (module.look_up(words, word="one", size=2) for _ in range(2))
    both = once + again * 2.0
    wg.train(wg.sum(both)).run()
    assert vectors.weight.data == pytest.approx(np.array([[0.7, 0.7], [1.0, 1.0]]))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_digits_are_read(seed: int, monkeypatch: pytest.MonkeyPatch, capsys: Quiet) -> None:
    module = example("digits")
    monkeypatch.setattr(module, "checked_types", lambda: "")  # `test_typecheck` and the type gate check it
    assert module.main(seed) >= 0.97
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("digits.py: test accuracy 9")


def test_digits_twice_is_the_same(monkeypatch: pytest.MonkeyPatch, capsys: Quiet) -> None:
    module = example("digits")
    monkeypatch.setattr(module, "checked_types", lambda: "")
    assert module.main(3, epochs=2) == module.main(3, epochs=2)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[1] == lines[-1]


@pytest.mark.slow
def test_digits_checks_its_own_types() -> None:
    assert example("digits").checked_types().endswith("Success: no issues found in 1 source file")


@pytest.mark.slow
@pytest.mark.parametrize("skip", ["--skip", "--no-skip"])
def test_cifar100_learns_images_of_the_same_format(skip: str, capsys: Quiet) -> None:
    found = example("cifar100").main(
        ["--synthetic", "--images", "1500", "--epochs", "5", "--columns", "1", skip]
    )
    assert found.coarse > 0.8 and found.fine > 0.4  # by chance 0.05 and, within the right one, 0.2
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == f"cifar100.py: coarse accuracy {found.coarse:.2%}, fine accuracy {found.fine:.2%}"


def test_cifar100_learns_the_same_with_all_fine_classifiers(tmp_path: Path, capsys: Quiet) -> None:
    module = example("cifar100")
    module.synthetic(tmp_path, 40)
    assert len({module.train(tmp_path, 1, 2, skip) for skip in (True, False)}) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("epoch 0: loss ") and second.startswith("epoch 1: loss ")


def test_cifar100_goes_on_from_a_checkpoint(tmp_path: Path, capsys: Quiet) -> None:
    module = example("cifar100")
    module.synthetic(tmp_path, 40)
    path = str(tmp_path / "w")
    module.train(tmp_path, 1, 1, True, checkpoint=path)
    assert module.train(tmp_path, 1, 3, True, checkpoint=path) == module.train(tmp_path, 1, 3, True)
    assert capsys.readouterr().out.count("epoch 0") == 2, "it began anew"


@pytest.mark.parametrize("arguments", [[], ["x", "--synthetic"]])
def test_cifar100_wants_a_path_or_makes_files(arguments: list[str], capsys: Quiet) -> None:
    with pytest.raises(SystemExit):
        example("cifar100").main(arguments)
    assert "give the path of the files, or --synthetic" in capsys.readouterr().err


def transform_case(seed: float) -> tuple[Any, wg.DoubleWeight]:  # Any: a module of type cases
    """The module of D120's cases, with a fresh weight in it."""
    spec = importlib.util.spec_from_file_location("transform", EXAMPLES.parent / "typecheck" / "transform.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    weight = SGD(learning_rate=0.1).double_weight(seed)
    vars(module)["weight"] = weight
    return module, weight


def test_backward_by_hand_equals_train() -> None:  # D6, D120
    def send_one(tape: wg.Tape[float, float]) -> wg.Do[float]:
        return wg.Do.delay(lambda: tape.backward(wg.Do.now(1.0)).run()).map(lambda _: tape.data)

    found = []
    for style in ("trained", "trained by a tape of its own", "told by hand"):
        module, weight = transform_case(2.0)
        layer = module.by_hand(3.0) if "own" in style else module.network(3.0)
        value = layer.forward.flat_map(send_one).run() if "hand" in style else layer.train().run()
        found.append((value, weight.data))
    assert found == [(6.0, 2.0 - 0.1 * 3.0)] * 3
