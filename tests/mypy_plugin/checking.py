"""Small projects checked with the plugin: files in, errors and revealed types out.

Knows: how mypy is started and configured here, in a process of its own.
Refuses to know: what any project is about.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SAID = re.compile(
    r"^(?P<file>[^:]+):(?P<line>\d+): (?P<kind>error|note): (?P<text>.*?)(?:  \[(?P<code>[\w-]+)\])?$"
)

LYING = ("[unused-awaitable]", "note: Are you missing an await?")

CONFIGURATION = """
[mypy]
strict = True
plugins = wengert_mypy
enable_error_code = truthy-bool, unused-awaitable, ignore-without-code
show_traceback = True
"""
# as the README advises, and therefore the programs, pages and projects that are checked as a user's are
ADVISED = """\
[tool.mypy]
strict = true
plugins = ["wengert_mypy"]
enable_error_code = ["truthy-bool", "unused-awaitable", "ignore-without-code"]
"""
PLAIN = CONFIGURATION.replace("plugins = wengert_mypy\n", "")
WITHOUT_PLUGIN = ADVISED.replace('plugins = ["wengert_mypy"]\n', "")


def configured(folder: Path, more: str = "", plugin: bool = True) -> Path:
    """A configuration file in `folder`."""
    path = folder / "mypy.ini"
    text = CONFIGURATION if plugin else PLAIN
    path.write_text(text + more, encoding="utf-8")
    return path


def environment() -> dict[str, str]:
    """The plugin is found on the path of the process, not on mypy's."""
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    sources = os.pathsep.join([str(ROOT / "src"), str(ROOT / "stubs")])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in paths if p),
        "MYPYPATH": sources,
    }


def written(folder: Path, files: Mapping[str, str]) -> None:
    """The files of a project; what is not named stays."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def said(folder: Path, *arguments: str, program: tuple[str, ...] = ("mypy",)) -> list[str]:
    """The lines that one run of mypy prints for the files of `folder`, without its summary.

    Nor that a program leaves an expression lying: those here are checked, and never run.
    """
    command = [sys.executable, "-m", *program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment())
    if done.returncode not in (0, 1) or "Traceback" in done.stdout + done.stderr:
        raise RuntimeError(f"mypy failed ({done.returncode}):\n{done.stdout}{done.stderr}")
    # what lies outside, such as the library itself, is another test's business
    inside = (line for line in done.stdout.splitlines() if not line.startswith(("..", "/")))
    return [line for line in inside if SAID.match(line) and not line.endswith(LYING)]


def project(folder: Path, files: Mapping[str, str], more: str = "", plugin: bool = True) -> list[str]:
    """What mypy says of a project that it has not seen; the library's own files are the same for all of them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    text = configured(folder, more, plugin).read_text(encoding="utf-8")
    written(folder, files)
    cache = cache_for(folder.parent.parent, text)
    return said(folder, "--cache-dir", str(cache), *files)


def cache_for(home: Path, configuration: str) -> Path:
    """`library_cache` of a configuration; mypy keeps the same under those of here and those that are advised."""
    if configuration in (CONFIGURATION, PLAIN):
        return advised_cache(home, plugin=configuration == CONFIGURATION)
    return library_cache(home, configuration)


def advised_cache(home: Path, plugin: bool = True, to: Path | None = None) -> Path:
    """`library_cache` of the advised configuration or of that without the plugin, or a copy of it for other files."""
    cache = library_cache(home, ADVISED if plugin else WITHOUT_PLUGIN)
    return cache if to is None else shutil.copytree(cache, to)


def library_cache(home: Path, configuration: str, extensions: Mapping[str, str] | None = None) -> Path:
    """mypy's cache for all projects of one configuration: what is in it is the library, read once.

    The library depends on the `extensions` that are configured: with others it is read again.

    `home` is where a worker has its folders. Each worker has a copy, lest two runs of mypy write into one cache.
    """
    name = f"cache_of_mypy_{zlib.crc32(configuration.encode()):08x}"
    if not (home / name).is_dir():
        of_all = home.parent if home.name.startswith("popen-") else home  # as pytest-xdist names them
        folder = of_all / f"{name}_made"
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "cache").is_dir():
                file = "pyproject.toml" if configuration.startswith("[tool.") else "mypy.ini"
                only = {file: configuration, "only.py": "import wengert as wg\nfrom wengert import nn\n"}
                written(folder, {**only, **(extensions or {})})
                said(folder, "--cache-dir", "cache", "only.py")
        shutil.copytree(folder / "cache", home / name)
    return home / name
