"""Who judges programs: mypy with the plugin, mypy alone, pyrefly, and the run. Each is asked once for all of them.

Knows: how each is started, configured and read.
Refuses to know: which program is right.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import ROOT, environment

SOURCES = (ROOT / "src", ROOT / "stubs")
# what the documentation advises
MYPY = """
[mypy]
strict = True
enable_error_code = truthy-bool, unused-awaitable, ignore-without-code
"""


@dataclass(frozen=True)
class Finding:
    """One thing that a judge says; a run says it of no line."""

    line: int
    code: str
    text: str


Answers = Mapping[str, Sequence[Finding]]  # by the name of the file


def _asked(folder: Path, *command: str, **more: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**environment(), **more}, capture_output=True, text=True, check=False
    )
    # mypy says some of its own failures on stdout, with a status as if they were the program's
    if (
        done.returncode not in (0, 1)
        or "Traceback" in done.stderr
        or done.stdout.strip()[:1] not in ("{", "")
    ):
        raise RuntimeError(f"{command[0]} failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    return done.stdout


def mypy(folder: Path, plugin: bool, caches: Path) -> Answers:
    """What one run of `mypy --strict` says of all the files of a folder; `caches` has what it keeps of the library."""
    name = "with_plugin" if plugin else "plain"
    text = f"{MYPY}{'plugins = wengert_mypy' * plugin}\ncache_dir = {caches / f'cache_{name}'}\n"
    (folder / f"{name}.ini").write_text(text, encoding="utf-8")
    files = sorted(path.name for path in folder.glob("*.py"))
    command = (sys.executable, "-m", "mypy", "-O", "json", "--config-file", f"{name}.ini", *files)
    said = _asked(folder, *command, MYPYPATH=os.pathsep.join(map(str, SOURCES)))
    found = defaultdict[str, list[Finding]](list)
    for line in map(json.loads, said.strip().splitlines()):
        if (
            line["severity"] == "error" and line["file"] in files
        ):  # what programs import is not what is judged
            found[line["file"]].append(Finding(line["line"], line["code"] or "", line["message"]))
    return found


def pyrefly(folder: Path, *stubs: Path) -> Answers:
    """What one run of pyrefly says, with stub packages in the folders `stubs`."""
    places = [str(path) for path in (*stubs, *SOURCES)]
    text = f"project-includes = ['*.py']\nsearch-path = {places}\n"
    (folder / "pyrefly.toml").write_text(text, encoding="utf-8")
    program = Path(sysconfig.get_path("scripts")) / "pyrefly"
    options = ("--output-format", "json", "--python-interpreter-path", sys.executable)
    said = json.loads(_asked(folder, str(program), "check", "-c", "pyrefly.toml", *options))
    found = defaultdict[str, list[Finding]](list)
    for line in said["errors"]:
        if line["severity"] == "error":
            finding = Finding(line["line"], line["name"], line["concise_description"])
            found[Path(line["path"]).name].append(finding)
    return found


def run(folder: Path) -> Answers:
    """What every program raises, each in a process of its own."""
    said = json.loads(_asked(folder, sys.executable, "-m", "benchmarks.raised", str(folder)))
    return {name: [Finding(0, *raised)] if raised else [] for name, raised in said.items()}
