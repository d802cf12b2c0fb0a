"""`python -m benchmarks.features [LIBRARY ...]`, in the root of a checkout: the cells of the comparison, tried.

    pip install -e '.[features]'
    python -m benchmarks.features                       # every library, each in a process of its own
    python -m benchmarks.features keras tinygrad        # these only
    python -m benchmarks.features pytorch --only LoRA   # rows whose title has this text
    python -m benchmarks.features --page docs/comparison.md    # also: does the page say what was found

A line is a row: works, by hand with the number of lines, no, or not run, with the reason. The exit status is 1 if a
program fails or the page says something else.

Knows: the command line, and how a library's files are run.
Refuses to know: the libraries.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.features.page import disagreements
from benchmarks.features.probes import LIBRARIES, PACKAGES, Kind, Probe, probes_of

SETTINGS = {  # of libraries that read them when they are imported
    "KERAS_BACKEND": "jax",
    "DEV": "CPU",  # of tinygrad
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_force_host_platform_device_count=2",  # what divides an array has two devices to do it
    "GLOO_SOCKET_IFNAME": "lo",  # processes of one machine; its name need not have an address
    "HF_HUB_OFFLINE": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


@contextmanager
def settings() -> Generator[dict[str, str], None, None]:
    """The environment of a run; where there is no clang, which tinygrad calls, it is that of the package `ziglang`."""
    with tempfile.TemporaryDirectory() as folder:
        clang = Path(folder, "clang")
        clang.write_text(f'#!/bin/sh\nexec {sys.executable} -m ziglang clang "$@"\n', encoding="utf-8")
        clang.chmod(0o700)
        yield SETTINGS if shutil.which("clang") else {**SETTINGS, "CC": str(clang)}


def found(library: str) -> tuple[dict[str, Probe], dict[str, int], str]:
    """The probes of a library that is installed, the lines of each, and the versions of its packages."""
    lines = {probe.title: probe.lines for probe in probes_of(library)}
    probes: dict[str, Probe] = {}
    for file in LIBRARIES[library]:
        probes |= import_module(f"benchmarks.features.{file}").rows.probes
    return probes, lines, ", ".join(f"{package} {version(package)}" for package in PACKAGES[library])


def probed(library: str, only: str) -> int:
    """Run the programs of a library in this process, and print a line for each; how many failed."""
    probes, lines, versions = found(library)
    failed = 0
    print(f"{library}: {versions}, Python {sys.version.split()[0]}", flush=True)
    for title, probe in probes.items():
        if only not in title:
            continue
        said = f"by hand ({lines[title]} lines)" if probe.kind is Kind.BY_HAND else probe.kind.value
        if probe.check is not None:
            try:
                probe.check()
            except Exception:
                traceback.print_exc()
                said, failed = "FAILED", failed + 1
        print(f"  {title}: {said}{': ' * bool(probe.reason)}{probe.reason}", flush=True)
    return failed


def main(given: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.features", description="features, tried")
    parser.add_argument("libraries", nargs="*", choices=[*LIBRARIES, []], help="which; all if none is named")
    parser.add_argument("--only", default="", help="rows whose title has this text")
    parser.add_argument("--page", type=Path, help="a page whose cells have to agree with the probes")
    parser.add_argument("--here", action="store_true", help="in this process, with its environment")
    options = parser.parse_args(given)
    libraries = options.libraries or list(LIBRARIES)
    wrong = disagreements(options.page.read_text(encoding="utf-8")) if options.page else []
    for line in wrong:
        print(line, flush=True)
    if options.here:
        return int(bool([library for library in libraries if probed(library, options.only)]) or bool(wrong))
    command = [sys.executable, "-m", "benchmarks.features", "--here", "--only", options.only]
    with settings() as given_to:
        environment = {**os.environ, **given_to}
        runs = [subprocess.run([*command, name], env=environment, check=False) for name in libraries]
    return int(any(run.returncode for run in runs) or bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
