"""Record the README's picture: one mistake in Wengert and in PyTorch, each checked by mypy and run.

`python docs/pictures/first_minute.py` writes `first_minute.svg` beside itself. It needs torch (extra `benchmarks`)
and the extra `examples`. What is shown is what the commands printed, without the traceback above an error.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.syntax import Syntax
from rich.terminal_theme import MONOKAI

HERE = Path(__file__).resolve().parent
README = HERE.parent.parent / "README.md"
PICTURE = HERE / "first_minute.svg"
TORCH = """\
# torch_scores.py
import torch
from torch import nn

w = nn.Parameter(torch.zeros(768, 10))
images, labels = torch.zeros(32, 784), torch.zeros(32, dtype=torch.int64)

scores = images @ w
loss = nn.functional.cross_entropy(scores, labels)
loss.backward()
"""
CONFIGURATION = "[mypy]\nplugins = wengert_mypy\ncache_dir = .cache\n"


def first_program() -> str:
    """The first program of the README."""
    found = re.search(r"```py\n(# scores\.py\n.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None, "README.md begins with scores.py"
    return found[1]


def said(folder: Path, *command: str) -> str:
    """Run a command of this Python in a folder, for what it prints; of a traceback only the error."""
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True, check=False)
    if "Traceback" in done.stderr:
        return done.stderr.strip().splitlines()[-1]
    return (done.stdout + done.stderr).strip()


def record(sessions: list[tuple[str, str, list[tuple[str, str]]]]) -> str:
    """An SVG of files and of commands with what they print: (name, source, [(command, output)])."""
    console = Console(record=True, width=124, file=io.StringIO(), force_terminal=True)
    for name, source, commands in sessions:
        lines = source.rstrip().splitlines()[1:]
        console.print(f"[dim]# {name}[/dim]")
        console.print(Syntax("\n".join(lines), "python", theme="monokai", line_numbers=True, start_line=2))
        for command, output in commands:
            console.print(f"[bold green]$[/bold green] {command}", highlight=False)
            style = "bold red" if "rror" in output else "bold green" if output else "dim"
            console.print(output or "(nothing)", style=style, highlight=False, markup=False)
        console.print()
    picture = console.export_svg(
        title="one mistake, before a run and in a run", theme=MONOKAI, unique_id="minute"
    )
    return re.sub(
        r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL
    )  # fonts of the reader's machine: no download


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "mypy.ini").write_text(CONFIGURATION)
        (folder / "scores.py").write_text(first_program())
        (folder / "torch_scores.py").write_text(TORCH)
        ours = [("mypy scores.py", said(folder, "-m", "mypy", "scores.py"))]
        theirs = [
            ("mypy torch_scores.py", said(folder, "-m", "mypy", "torch_scores.py")),
            ("python torch_scores.py", said(folder, "torch_scores.py")),
        ]
        sessions = [("scores.py", first_program(), ours), ("torch_scores.py", TORCH, theirs)]
        PICTURE.write_text(record(sessions), encoding="utf-8")


if __name__ == "__main__":
    main()
