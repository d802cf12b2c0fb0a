"""`python -m wengert doctor`: what is installed here, and what of it is wrong.

Knows: which versions Wengert works with, what each optional package is for, and that only mypy knows whether mypy has
the plugin: it is asked, with the configuration of the present folder.
Refuses to know: how to mend anything; it says what to write.
"""

from __future__ import annotations

import configparser
import platform
import re
import subprocess
import sys
import tomllib
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from wengert.arrays.compilers import found_compiler
from wengert.arrays.dispatch import blas, gpus
from wengert.arrays.nvrtc import found_nvrtc
from wengert.version import __version__

__all__ = ["Finding", "Requirement", "examined", "main"]


@dataclass(frozen=True)
class Finding:
    """One line; something is wrong where there is advice."""

    what: str
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Requirement:
    """A package from version `least` on and `below` another; `extra` brings it, for the sake of `use`."""

    name: str
    least: str
    below: str
    extra: str = ""
    use: str = ""

    def finding(self) -> Finding:
        """The installed version, as a finding."""
        try:
            found = metadata.version(self.name)
        except metadata.PackageNotFoundError:
            wanted = f"pip install 'wengert[{self.extra}]'" if self.extra else f"pip install {self.name}"
            return Finding(self.name, f"not installed: {wanted}{self.use and ', for '}{self.use}")
        return Finding(self.name, found, "" if self.fits(found) else self._advice())

    def fits(self, found: str) -> bool:
        """Tell whether this version will do."""
        return _numbers(self.least) <= _numbers(found) and (
            not self.below or _numbers(found) < _numbers(self.below)
        )

    def _advice(self) -> str:
        bounds = f">={self.least}" + (f",<{self.below}" if self.below else "")
        return f"pip install '{self.name}{bounds}'"


REQUIREMENTS: Final = (
    Requirement("numpy", "2.2", "3"),
    Requirement("typing-extensions", "4.12", ""),
    Requirement("mypy", "1.19", "3", "mypy", "the types of models"),
    Requirement(
        "safetensors", "0.4", "0.8", "saving", "wengert.saving; 0.8.0 corrupts arrays that are not contiguous"
    ),
)
_NO_DRIVER: Final = "cudaErrorInsufficientDriver"  # also where there is no driver at all
_OLDEST_PYTHON: Final = (3, 11)
_OLDEST_CUPY: Final = "13.3"
_CANARY: Final = "from wengert.testing import plugin_active\n\nreveal_type(plugin_active())\n"
_SWITCH: Final = 'write [tool.mypy] and plugins = ["wengert_mypy"] in pyproject.toml'
_CONFIGURATIONS: Final = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")


def main(arguments: list[str]) -> int:
    """Print what is here; 1 if something is wrong."""
    about = (
        "Show versions, backends, devices, BLAS threads and whether the mypy plugin is active in this folder."
    )
    ArgumentParser(prog="python -m wengert doctor", description=about).parse_args(arguments)
    wrong = 0
    for finding in examined(Path.cwd()):
        print(f"{'!' if finding.advice else ' '} {finding.what:17}  {finding.found}", flush=True)
        if finding.advice:
            wrong += 1
            print(f"    {finding.advice}")
    print(f"{wrong} of these {'is' if wrong == 1 else 'are'} wrong" if wrong else "nothing is wrong")
    return 1 if wrong else 0


def examined(folder: Path) -> Iterator[Finding]:
    """All findings, mypy in `folder` last, because it takes seconds."""
    yield Finding("wengert", f"{__version__} in {Path(__file__).parent}")
    yield _python()
    for requirement in REQUIREMENTS:
        yield requirement.finding()
    yield Finding("BLAS", blas())
    yield _compiler()
    yield Finding("numpy's device", f"cpu, {platform.machine()}")
    yield _cupy()
    yield from _device()
    yield _nvrtc()
    yield _plugin(folder)


def _python() -> Finding:
    advice = "" if sys.version_info >= _OLDEST_PYTHON else "use Python 3.11 or newer"
    return Finding("python", f"{platform.python_version()} in {sys.executable}", advice)


def _compiler() -> Finding:
    found = found_compiler()
    if found is None:
        return Finding("C compiler", "none (CC, cc, gcc, clang): plans stay in Python")
    return Finding("C compiler", f"{found.path}, {found.version.splitlines()[0]}")


def _cupy() -> Finding:
    found = gpus()
    if found is None:
        return Finding("cupy", "not installed: pip install 'wengert[gpu]', for arrays on a GPU")
    if _NO_DRIVER in found.failure or not (found.failure or found.names):  # as on most laptops, and in CI
        return Finding("cupy", f"{found.version}, no device to be used: {found.failure or 'none is visible'}")
    if found.failure:
        return Finding(
            "cupy", f"{found.version} fails: {found.failure}", "install a driver and a cupy that fits it"
        )
    old = _numbers(found.version) < _numbers(_OLDEST_CUPY)
    return Finding(
        "cupy", f"{found.version} on {', '.join(found.names)}", "pip install 'wengert[gpu]'" if old else ""
    )


def _device() -> Iterator[Finding]:
    """Driver and memory pool, where there is a device."""
    found = gpus()
    if found is not None and found.names:
        yield Finding("CUDA driver", f"for CUDA {found.driver} and older")
        yield Finding("memory pool", found.memory)


def _nvrtc() -> Finding:
    found = found_nvrtc()
    if found is None:
        return Finding("NVRTC", "none: no kernel is compiled for a GPU; cupy or 'wengert[gpu-test]' bring it")
    return Finding("NVRTC", f"{found.version}, {found.path}")


def _plugin(folder: Path) -> Finding:
    """Answer of mypy under the configuration of this folder."""
    what = "mypy plugin"
    try:
        metadata.version("mypy")
    except metadata.PackageNotFoundError:
        return Finding(what, "not active: there is no mypy")
    try:
        configuration = configured(folder)
    except (tomllib.TOMLDecodeError, configparser.Error) as error:
        return Finding(
            what, f"a configuration cannot be read: {error}", "mend it: mypy cannot read it either"
        )
    with TemporaryDirectory() as elsewhere:
        canary = Path(elsewhere) / "canary.py"  # not `-c`: a configuration with `files` refuses that
        canary.write_text(_CANARY, encoding="utf-8")
        command = [sys.executable, "-m", "mypy", "--no-error-summary", str(canary)]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    answer = re.search(r"Literal\[(True|False)\]", done.stdout)
    if answer is None:
        said = " ".join((done.stdout + done.stderr).split())
        return Finding(
            what,
            f"mypy does not know: {said[:300]}",
            "mypy has to find wengert and wengert_mypy: install both in its environment",
        )
    if answer[1] == "True":
        advice = (
            ""
            if _redefines(configuration)
            else "; allow_redefinition = true lets `x = fc1(x)` change a shape"
        )
        return Finding(what, f"active by {configuration}{advice}")
    if configuration is None:
        return Finding(what, f"not active: no mypy configuration here; {_SWITCH}")
    return Finding(
        what,
        f"not active in {configuration}",
        'write plugins = ["wengert_mypy"] there, in the section of mypy',
    )


def configured(folder: Path) -> Path | None:
    """The file that mypy takes its configuration from: the nearest from this folder up to the repository's root."""
    for place in (folder, *folder.parents):
        for name in _CONFIGURATIONS:
            if _has_mypy(place / name):
                return place / name
        if any((place / mark).exists() for mark in (".git", ".hg")):
            break
    return None


def _redefines(configuration: Path | None) -> bool:
    return configuration is not None and "allow_redefinition" in configuration.read_text(encoding="utf-8")


def _has_mypy(path: Path) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".toml":
        try:
            return "mypy" in tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {})
        except tomllib.TOMLDecodeError as error:
            raise tomllib.TOMLDecodeError(f"{path}: {error}") from None
    if path.name == "setup.cfg":
        parser = configparser.ConfigParser()
        parser.read(path, encoding="utf-8")
        return parser.has_section("mypy")
    return True


def _numbers(text: str) -> tuple[int, ...]:
    """A version to be compared: its leading numbers."""
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()
