"""The wheel, built from this checkout, and environments that see everything installed here but our own sources.

Knows: how both are made without a network.
Refuses to know: what is tried there.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def built_wheel(folder: Path) -> Path:
    """The wheel, in that folder."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def environment(home: Path, *without: str) -> Path:
    """A new virtual environment with all that is installed here except Wengert and these; its interpreter."""
    venv.create(home, with_pip=False)
    seen = home / "seen"
    seen.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        name = path.name.partition("-")[0].partition(".")[0]
        if "wengert" not in name and name not in without and path.suffix != ".pth":
            (seen / path.name).symlink_to(path)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "seen.pth").write_text(f"{seen}\n")
    return home / "bin" / "python"
