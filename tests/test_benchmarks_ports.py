"""Ports of public programs: their losses are those of their references, and the page says what is there."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.ports.__main__ import NOTES, TEXT, compared, main, row
from benchmarks.ports.char_rnn import PORT as CHAR_RNN
from benchmarks.ports.micrograd import PORT as MICROGRAD
from benchmarks.ports.port import TORCH, Port, apart
from benchmarks.ports.registry import PORTS
from benchmarks.timing import ROOT

PAGE = (ROOT / "docs" / "ports.md").read_text()


def short(port: Port) -> Port:
    return replace(port, steps=4, compared=min(4, port.compared))


@pytest.mark.parametrize("port", [MICROGRAD, CHAR_RNN], ids=lambda port: port.name)
def test_losses_are_those_of_the_reference(port: Port) -> None:
    assert compared(short(port)).apart < 1e-12


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Sparse")  # PyTorch's sparse matrices are in beta
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is of the extra `benchmarks`")
@pytest.mark.parametrize("port", [port for port in PORTS if port.peer == TORCH], ids=lambda port: port.name)
def test_losses_are_those_of_pytorch(port: Port) -> None:
    assert compared(short(port)).apart < 1e-5


def test_another_reference_is_found() -> None:
    wrong = replace(short(MICROGRAD), theirs=CHAR_RNN.theirs)
    with pytest.raises(AssertionError, match=r"micrograd: losses of a step lie .* apart"):
        compared(wrong)
    assert apart([1.0, 3.0], [1.0, 2.0]) == 0.5


def test_the_page_has_each_port_with_its_lines() -> None:
    rows = re.findall(r"^\| \[([\w-]+)\]\(\.\./(\S+)\).*? \| (.*?) \| (\d+) \|", PAGE, re.M)
    assert [(name, int(lines)) for name, _, _, lines in rows] == [(port.name, port.lines()) for port in PORTS]
    assert all((ROOT / path).exists() for _, path, _, _ in rows)
    assert sum(bool(example) for _, _, example, _ in rows) >= 6
    assert PAGE.startswith(TEXT)
    assert PAGE.endswith(NOTES)


def test_a_row_has_figures_and_a_page_its_machine(tmp_path: Path) -> None:
    spread = {"median": 1.5, "low": 1.0, "high": 2.0}
    line = {"workload": "port-micrograd", "ours": spread, "theirs": spread, "ratio": spread}
    assert row(MICROGRAD, compared(short(MICROGRAD)), line)[-2:] == ["1.5 / 1.5", "1.50 (1.00 to 2.00)"]
    times, page = tmp_path / "times.json", tmp_path / "page.md"
    machine = {"python": "3.11", "cores": "2", "load": "9", "processor": "a processor", "numpy": "2.4"}
    figures = {
        "lines": [{**line, "variant": "", "peer": ""}],
        "limits": [],
        "left out": {},
        "machine": machine,
    }
    times.write_text(json.dumps(figures))
    main(["micrograd", "--times", str(times), "--page", str(page)])
    assert "Python 3.11 on a shared machine of 2 cores, a processor; numpy 2.4." in page.read_text()
    assert "| 1.5 / 1.5 | 1.50 (1.00 to 2.00) |" in page.read_text()
