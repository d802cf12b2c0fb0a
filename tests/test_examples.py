"""Every example runs, and finds what it says it finds.

Knows: the bounds and equalities that the paper's listings are to keep.
Refuses to know: how an example is written.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.often import few
from wengert import nn
from wengert.cluster import Distributed, Fault, Local, Nodes
from wengert.plugins import SGD
from wengert.run import Batched

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


@pytest.mark.slow
def test_networks_that_people_train_learn() -> None:
    assert example("images").main(epochs=3) > 0.85
    assert example("autoencoder").main(epochs=15) > 0.4
    noise, drawn = example("diffusion").main(steps=1000)
    assert drawn < 0.13 < 0.18 < noise
    before, after = example("reinforcement").main(rounds=25)
    assert after > 3 * before
    learned, pairs = example("transformer").main(steps=80, written=0)
    assert learned < 2.7 and 2.2 < pairs < 2.4


@pytest.mark.slow
def test_derivatives_by_inputs_train(capsys: Quiet) -> None:
    of_normal, of_slope, of_sine = example("by_inputs").main()
    assert of_normal < 0.15
    assert of_slope < 0.2
    assert of_sine < 0.01
    assert capsys.readouterr().out.count("off by") == 3


def test_a_matched_score_has_the_exact_trace() -> None:
    """Of s(x) = x A the trace is that of A, and the loss (‖x A‖²/2 + tr A) averaged over rows."""
    module, a = example("by_inputs"), np.array([[0.5, 2.0], [-1.0, 0.25]], np.float64)
    rows = np.random.default_rng(0).normal(size=(7, 2))
    found = module.score_matching(lambda x: x @ a, rows).predict().run()
    assert found == pytest.approx(np.mean(np.sum((rows @ a) ** 2, axis=1)) / 2.0 + np.trace(a), rel=1e-12)


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
@pytest.mark.parametrize("seed", few(range(5), 0, 1))
def test_digits_are_read(seed: int, monkeypatch: pytest.MonkeyPatch, capsys: Quiet) -> None:
    module = example("digits")
    monkeypatch.setattr(module, "checked_types", lambda: "")  # `test_typecheck` and the type gate check it
    assert module.main(seed) >= 0.97
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last.startswith("digits.py: test accuracy 9")


@pytest.mark.slow
def test_digits_twice_is_the_same(monkeypatch: pytest.MonkeyPatch, capsys: Quiet) -> None:
    module = example("digits")
    monkeypatch.setattr(module, "checked_types", lambda: "")
    assert module.main(3, epochs=2) == module.main(3, epochs=2)
    lines = capsys.readouterr().out.strip().splitlines()
    assert lines[1] == lines[-1]


@pytest.mark.slow
def test_digits_checks_its_own_types() -> None:
    assert example("digits").checked_types().endswith("Success: no issues found in 1 source file")


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


@pytest.mark.slow
def test_the_siamese_network_learns_and_its_norms_count() -> None:
    module = example("siamese")
    before, after = module.main(steps=120)
    assert before < 0.6 < 0.65 < after


def test_one_step_of_a_siamese_network_is_two_steps_of_its_norms() -> None:
    module = example("siamese")
    network, train = module.Network(), module.digits()
    left, right, same = module.pairs(train, 16, 0)
    norm = network.blocks[0].norm
    means = []
    for images in (left, right):
        x = network.stem(images.reshape(-1, 1, 8, 8))
        means.append(network.blocks[0].first(x).predict().run().mean((0, 2, 3)))
    network.loss((left, right, same), seed=0).train().run()
    np.testing.assert_allclose(
        norm.mean.data, (1.0 - 0.9**2) * (means[0] + means[1]) / 2, rtol=1e-4, atol=1e-6
    )


def test_adapters_learn_while_the_network_stays(capsys: Quiet) -> None:
    first, before, after = example("lora").main()
    assert first > 0.85 and after > before + 0.2
    assert "the network is as it was; 4 weights, 152 elements" in capsys.readouterr().out


def test_the_tied_model_of_words_learns(capsys: Quiet) -> None:
    module = example("words")
    net, perplexities = module.main(epochs=10)
    assert perplexities[0] > 8.0 and perplexities[-1] < 2.5
    assert "scores.weight" not in nn.weights(net)
    assert net.scores.weight.shape == net.words.table.shape[::-1]


def test_the_state_of_a_window_begins_the_next() -> None:
    module = example("words")
    net = module.model(module.Settings(learning_rate=0.0, max_norm=1.0), 5)
    zero = np.zeros((2, 2, module.WIDTH), np.float32)
    words = np.arange(12).reshape(2, 6) % 5
    whole, _ = net(words, (zero, zero))
    first, ends = net(words[:, :4], (zero, zero))
    _, state = wg.mean(first).train(also=ends).run()
    rest, _ = net(words[:, 4:], state)
    np.testing.assert_allclose(rest.predict().run(), whole.predict().run()[4:], rtol=1e-5, atol=1e-6)


def test_letters_are_learnt_and_their_accuracy_told(capsys: Quiet) -> None:
    history, text = example("letters").main(epochs=4)
    told = [epoch.metrics["accuracy"] for epoch in history.epochs]
    assert told[0] < 0.8 < 0.85 < told[-1]
    assert text.startswith("peter piper") and len(text) == 71


def test_waves_go_on(capsys: Quiet) -> None:
    before, after, error = example("waves").main(steps=40)
    assert before > 0.3 and after < 0.02 and error < 0.4


def test_a_mixture_of_experts_is_the_same_when_one_dies(tmp_path: Path) -> None:
    module = example("experts")
    engine = Local(workers=0)
    nodes = Nodes(engine)
    undisturbed = module.trained(nodes, "a", str(tmp_path), epochs=2)
    disturbed = module.trained(
        nodes, "b", str(tmp_path), epochs=2, killing=lambda node: engine.kill(node.name)
    )
    assert disturbed == undisturbed and not any(name.startswith(("a", "b")) for name in engine._places)


def test_a_sweep_has_every_trial_though_workers_die(monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("sweep")
    monkeypatch.setattr(module, "RATES", (0.01,))
    died = Local(2, lambda message: Fault.DIED_AFTER if message.number == 1 else None)
    found = module.table(died)
    assert found == module.table(Local(1)) and len(found) == 2 and died.deaths() == ["worker-1"]


def test_trees_are_batched_on_each_worker_with_the_bits_of_one_process() -> None:
    module = example("trees_by_workers")
    assert module.compared(module.drawn(33), lambda: Distributed(Local(2), executor=Batched))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="tests start Ray on Linux alone")
@pytest.mark.parametrize(
    "name",
    [
        "distributed",
        *(pytest.param(x, marks=pytest.mark.nightly) for x in ("experts", "trees_by_workers")),
    ],
)
def test_other_processes_compute_the_same_bits(name: str) -> None:
    """As a script, so that Ray leaves nothing in this process; `tests/cluster/rays.py` has the experts each day."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True, timeout=600.0
    )
    assert done.returncode == 0 and "the same bits" in done.stdout, done.stdout + done.stderr
