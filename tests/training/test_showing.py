"""The picture, the bar and the curves: drawn where they can be, and refused, or left out, where they cannot."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.models import Model, points
from wengert.errors import PackageError
from wengert.training import Event, History, Step, fit, records


def history(**options: Any) -> History:
    model = Model()
    given: dict[str, Any] = {
        "seed": 0,
        "epochs": 3,
        "validation": points(20),
        "metrics": {"accuracy": model.accuracy},
        **options,
    }
    return fit(model.loss, points(), **given)


# -- the picture ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # matplotlib's own are not ours to mend
def test_learning_curves_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="of the extra `plot`")
    for made in (history(), history(steps=2, epochs=None), History((), (), 0)):
        made.plot(tmp_path / "curves.png")
        assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    history().plot(str(tmp_path / "curves.svg"))
    assert "validation loss" in (tmp_path / "curves.svg").read_text()


def test_without_matplotlib_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PackageError, match=r"History.plot needs .*pip install 'wengert\[plot\]'") as caught:
        history().plot(tmp_path / "curves.png")
    assert isinstance(caught.value, ImportError) and not list(tmp_path.iterdir())


# -- TensorBoard ----------------------------------------------------------------------------------


class Writer:
    """Remembers what it is told to write."""

    made: list[Writer]

    def __init__(self, folder: str, purge_step: int) -> None:
        self.folder, self.purge_step, self.closed = folder, purge_step, False
        self.written: list[tuple[str, float, int]] = []
        self.made.append(self)

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        assert not self.closed
        self.written.append((tag, value, step))

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def writers(monkeypatch: pytest.MonkeyPatch) -> list[Writer]:
    package: Any = type(sys)("tensorboardX")
    package.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "tensorboardX", package)
    Writer.made = []
    return Writer.made


def test_tensorboard_is_told(writers: list[Writer], tmp_path: Path) -> None:
    found = history(tensorboard=tmp_path)
    (writer,) = writers
    assert writer.folder == str(tmp_path) and writer.closed and writer.purge_step == 1
    steps = [(value, step) for tag, value, step in writer.written if tag == "loss/step"]
    assert steps == [(loss, i) for i, loss in enumerate(found.losses, 1)]
    assert ("rate/Settings", 0.01, 1) in writer.written
    epochs = [entry for entry in writer.written if entry[0] not in ("loss/step", "rate/Settings")]
    assert epochs == [
        entry
        for epoch in found.epochs
        for entry in (
            ("loss/epoch", epoch.loss, epoch.steps),
            ("loss/validation", epoch.validation, epoch.steps),
            ("metrics/accuracy", epoch.metrics["accuracy"], epoch.steps),
        )
    ]


def test_resumed_it_takes_back_what_is_told_again(writers: list[Writer], tmp_path: Path) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, Step) and event.number == 5:
            raise KeyboardInterrupt

    model = Model()
    files: dict[str, Any] = {"checkpoint": tmp_path / "w", "weights": model, "tensorboard": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        fit(model.loss, points(), seed=0, epochs=3, callbacks=[stop], every=2, **files)
    fit(model.loss, points(), seed=0, epochs=3, resume=True, **files)
    assert [(writer.closed, writer.purge_step) for writer in writers] == [(True, 1), (True, 5)]
    assert writers[1].written[0][2] == 5


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # tensorboardX's own are not ours to mend
def test_the_real_writer_writes(tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX", reason="of the extra `tensorboard`")
    history(tensorboard=tmp_path)
    (path,) = tmp_path.glob("events.out.tfevents.*")
    content = path.read_bytes()
    assert all(
        tag in content for tag in (b"loss/step", b"loss/epoch", b"loss/validation", b"metrics/accuracy")
    )


def test_without_tensorboard_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(PackageError, match=r"needs the package tensorboardX.*'wengert\[tensorboard\]'"):
        history(tensorboard=tmp_path)


# -- the bar --------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    """Says that somebody looks at it."""

    def isatty(self) -> bool:
        return True


def test_there_is_no_bar_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "rich.progress", raising=False)
    found = history()
    out, err = capsys.readouterr()
    assert out == "" and "rich.progress" not in sys.modules
    first = found.epochs[0]
    assert err.count("\n") == 3 and err.startswith(
        f"epoch 0: loss {first.loss:.4f}, validation {first.validation:.4f}, "
        f"accuracy {first.metrics['accuracy']:.4f}, rate 0.01\n"
    )


@pytest.mark.parametrize("how", [{"epochs": 3}, {"epochs": None, "steps": 7}])
def test_the_bar_is_drawn_to_its_end(monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]) -> None:
    pytest.importorskip("rich", reason="of the extra `examples`")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(records, "_OFTEN", 0.0)
    found = history(**how)
    text = terminal.getvalue()
    assert f"loss {found.losses[0]:.4f}" in text, "before the first epoch is over"
    assert f"epoch 2: loss {found.epochs[2].loss:.4f}" in text and "100%" in text


def test_the_bar_is_not_drawn_for_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich", reason="of the extra `examples`")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(records, "_OFTEN", 1e9)
    found = history(validation=None, metrics=None)
    text = terminal.getvalue()
    assert f"loss {found.losses[0]:.4f}" in text and f"loss {found.losses[1]:.4f}" not in text
    assert all(f"epoch {epoch.number}: loss {epoch.loss:.4f}" in text for epoch in found.epochs)


def test_the_bar_can_be_left_out_and_rich_too(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    history(show=False)
    monkeypatch.setattr(records, "find_spec", lambda name: None)
    assert terminal.getvalue() == ""
    history()
    assert terminal.getvalue().count("epoch ") == terminal.getvalue().count("\n") == 3
