"""Weave modules: equal to plain numpy, and blind to the order of atoms.

Knows: the formula of a module.
Refuses to know: how it is run.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import wengert as wg
from tests.test_examples import example
from wengert.nn import Linear
from wengert.plugins import SGD
from wengert.run import Batched, Sequential

MODULE = example("weave")


def in_numpy(module: Any, atoms: Any, pairs: Any) -> Any:  # Any: the example's own classes, and arrays
    """One module, atom by atom and pair by pair."""

    def f(name: str, *parts: Any) -> Any:
        layer = module.layers[name]
        return np.maximum(np.concatenate(parts) @ layer.weight.data + layer.bias.data, 0.0)

    received = [np.zeros(module.none.shape) for _ in atoms]
    for (i, j), pair in pairs.items():
        received[i] = received[i] + f("pa", pair)
        received[j] = received[j] + f("pa", pair)
    changed = {
        (i, j): f("p", f("ap", atoms[i], atoms[j]) + f("ap", atoms[j], atoms[i]), f("pp", pair))
        for (i, j), pair in pairs.items()
    }
    return [f("a", f("aa", a), r) for a, r in zip(atoms, received, strict=True)], changed


def weave() -> Any:
    make = partial(Linear.make, SGD(learning_rate=0.1), seed=np.random.default_rng(0))
    return MODULE.Weave(make, MODULE.KINDS, 2, 8)


def values(module: Any, molecules: Any, executor: Any) -> list[Any]:
    """New features of the atoms and of the pairs of each molecule."""
    made = [module(m.atoms, m.pairs) for m in molecules]
    flat = tuple(x for atoms, pairs in made for x in (*atoms, *pairs.values()))
    found = iter(wg.predict(flat).run(executor))
    return [([next(found) for _ in atoms], {key: next(found) for key in pairs}) for atoms, pairs in made]


@pytest.mark.parametrize("executor", [Batched, Sequential])
def test_a_module_equals_plain_numpy(executor: Any) -> None:
    module, molecules = weave(), MODULE.molecules(6, 8, 0)
    for m, (atoms, pairs) in zip(molecules, values(module, molecules, executor()), strict=True):
        expected_atoms, expected_pairs = in_numpy(module, m.atoms, m.pairs)
        for x, y in zip(atoms, expected_atoms, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-6)
        assert pairs.keys() == expected_pairs.keys()
        for key, x in pairs.items():
            np.testing.assert_allclose(x, expected_pairs[key], rtol=1e-4, atol=1e-6)


def test_permuted_atoms_give_permuted_features() -> None:
    module, chance = weave(), np.random.default_rng(1)
    molecule = next(m for m in MODULE.molecules(30, 12, 2) if len(m.atoms) == 12)
    order = chance.permutation(12).tolist()  # the atom that comes to stand at each place
    new = {old: place for place, old in enumerate(order)}
    moved = molecule._replace(
        atoms=[molecule.atoms[i] for i in order],
        pairs={tuple(sorted((new[i], new[j]))): x for (i, j), x in molecule.pairs.items()},
    )
    (atoms, pairs), (other_atoms, other_pairs) = values(module, [molecule, moved], Batched())
    for place, old in enumerate(order):
        np.testing.assert_allclose(other_atoms[place], atoms[old], rtol=1e-5, atol=1e-6)
    for (i, j), x in pairs.items():
        np.testing.assert_allclose(other_pairs[min(new[i], new[j]), max(new[i], new[j])], x, rtol=1e-5)


@pytest.mark.slow
def test_molecules_of_1_to_30_atoms_are_one_batch() -> None:
    model, molecules = MODULE.Polar(size=4), MODULE.molecules(40, 30, 5)
    sizes = {len(m.atoms) for m in molecules}
    assert min(sizes) == 1 and max(sizes) >= 28
    batched = Batched()
    before = model.loss(molecules).predict().run(Sequential())
    assert model.loss(molecules).train().run(batched) == pytest.approx(before, rel=1e-4)
    assert model.loss(molecules).predict().run() < before
    pair = [line for line in batched.report.lines.values() if "_pair" in line.name]
    assert {line.width for line in pair} == {float(sum(len(m.pairs) for m in molecules))}


@pytest.mark.slow
def test_polar_bonds_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    error, single = MODULE.main(count=200, epochs=4, largest=8)
    assert error < 0.8 * single
    assert "polar bonds are off by" in capsys.readouterr().out
