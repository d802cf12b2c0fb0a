"""`python -m benchmarks.ports [NAME ...]`: public programs beside their references, as a table.

    python -m benchmarks.ports          # losses only, a minute or two
    python -m benchmarks.ports --times times.json --page docs/ports.md

Times are those of `python -m benchmarks 'port-*' --json times.json`. Losses that should be equal and are not are an
AssertionError.

Knows: how losses and times become a page.
Refuses to know: any port.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.ports.port import Port, apart
from benchmarks.ports.registry import PORTS
from benchmarks.results import joined, machine, table
from benchmarks.workload import CLOSE

HEAD: Final = ("program", "example", "lines", "loss", "apart", "ms a step", "ratio")
TEXT: Final = """\
# Programs of others

Sixteen public programs, written with Wengert, beside themselves in PyTorch, JAX, plain numpy or Python. Both have the
same weights at the beginning, the same data and the same optimizer; dropout, whose masks no two libraries share, is
left out. The data are made, or the manual that comes with Python. `python -m benchmarks.ports` runs them, compares the
losses of each step, and writes this page.

- *example*: the model is that of the example, which the port imports.
- *lines*: of ours, without empty ones: settings, model and step; data that both read are not counted.
- *loss*: ours and the reference's, after so many steps.
- *apart*: the greatest relative distance of the losses of one step; of the first steps only where it says so.
- *ms a step*, *ratio*: CPU time of both on one thread, and ours over theirs, below 1 where ours takes less: medians of
  rounds in turn, after ours has run for 10 s, in which plans are made (`python -m benchmarks 'port-*'`).
"""
NOTES: Final = """\
Of `time-sequence` the first loss alone is equal, for SciPy's L-BFGS searches along a line and PyTorch's does not, which
knows earlier steps in the next call. Each of the first steps of `char-rnn` makes a rounding ten times as large.
Convolutions are 63 % of a step of `mnist` and 87 % of one of `super-resolution`, node by node (`wengert profile`).

## What is a call here, and what is not

Written by hand are the neurons of micrograd, the cart and pole, the steps of Runge and Kutta, Hyvärinen's loss, and the
text, graph or images that a program reads. All else that the references call is a call here, too:

| in the program | here |
| --- | --- |
| `clip_grad_norm_`, `clip_grad_value_` | `ClipByGlobalNorm`, `ClipByValue`, as bases of settings |
| groups of parameters | `nn.with_settings(model, "*.bias", other)` |
| `weight_decay=` of `Adam` | `L2Regularization`, with `l2=`; that of `AdamW` is `AdamW`'s `weight_decay` |
| tied tables | `nn.tie(model, "scores.weight", to="words.table")` |
| a state that goes on, detached | `loss.train(also=state)` gives it as data |
| a discriminator that stands still while the generator learns by it | `nn.freeze(judge)` |
| `fake.detach()` | `wg.stop_gradient(made)` |
| `StepLR`, stepped each epoch | `schedules.StepLR(1.0, step_size=batches)`: commits are counted, not epochs |
| `autograd.grad(..., create_graph=True)` | `wg.gradients(y, x).layers` |
| `torch.sparse` | `wg.sparse_matmul` of a matrix of SciPy |
| `optim.LBFGS` | `training.lbfgs(loss, model)` |
"""


@dataclass(frozen=True)
class Compared:
    """The last losses of both, and how far those of a step lie apart at most."""

    ours: float
    theirs: float
    apart: float


def compared(port: Port) -> Compared:
    """Run both; AssertionError if losses that should be equal are not."""
    ours, theirs = ([step() for _ in range(port.steps)] for step in (port.ours(), port.theirs()))
    far = apart(ours[: port.compared], theirs[: port.compared])
    assert far <= CLOSE, f"{port.name}: losses of a step lie {far:.1e} apart"
    return Compared(ours[-1], theirs[-1], far)


def row(port: Port, found: Compared, line: Mapping[str, Any] | None) -> list[str]:
    """A line of the table; `line` is one of figures, as JSON has it."""
    first = "" if port.compared >= port.steps else f", of {port.compared}"
    cells = [
        f"[{port.name}](../benchmarks/ports/{Path(port.ours.__code__.co_filename).name}): {port.source}; {port.what}",
        f"[{port.example}.py](../examples/{port.example}.py)" if port.example else "",
        str(port.lines()),
        f"{found.ours:.6g} / {found.theirs:.6g} of {port.peer}, {port.steps} steps",
        f"{found.apart:.0e}{first}",
    ]
    if line is None:
        return [*cells, "", ""]
    ratio = line["ratio"]
    times = f"{line['ours']['median']:.3g} / {line['theirs']['median']:.3g}"
    return [*cells, times, f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"]


def rows(ports: Sequence[Port], figures: Mapping[str, Any]) -> Iterator[list[str]]:
    """A line each, printed as soon as it is known."""
    times = {line["workload"]: line for line in figures.get("lines", ())}
    for port in ports:
        found = row(port, compared(port), times.get(f"port-{port.name}"))
        print(" | ".join(found), flush=True)
        yield found


def main(given: Sequence[str] | None = None) -> None:
    """Compare, print, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ports", description="ports beside references")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(port.name for port in PORTS))
    parser.add_argument(
        "--times",
        type=Path,
        nargs="+",
        help="files of `python -m benchmarks 'port-*' --json`; the last counts",
    )
    parser.add_argument("--page", type=Path, help="write the page")
    options = parser.parse_args(given)
    chosen = [port for port in PORTS if not options.names or port.name in options.names]
    figures = joined([json.loads(path.read_text()) for path in options.times]) if options.times else {}
    found = table(HEAD, [*rows(chosen, figures)])
    if options.page is not None:
        text = [TEXT, *([machine(figures["machine"])] if figures else []), found, NOTES]
        options.page.write_text("\n\n".join(part.strip() for part in text) + "\n")


if __name__ == "__main__":
    main()
