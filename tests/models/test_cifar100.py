"""The paper's network on images of CIFAR-100's format."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_examples import Quiet, example


@pytest.mark.slow
@pytest.mark.parametrize("skip", ["--skip", "--no-skip"])
def test_cifar100_learns_images_of_the_same_format(skip: str, capsys: Quiet) -> None:
    found = example("cifar100").main(
        ["--synthetic", "--images", "1500", "--epochs", "5", "--columns", "1", skip]
    )
    assert found.coarse > 0.8 and found.fine > 0.4  # by chance 0.05 and, within the right one, 0.2
    last = capsys.readouterr().out.strip().splitlines()[-1]
    assert last == f"cifar100.py: coarse accuracy {found.coarse:.2%}, fine accuracy {found.fine:.2%}"


@pytest.mark.slow
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
