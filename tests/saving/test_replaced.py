"""The file that is replaced keeps its mode, and what killed writers have left goes, but nothing of a living one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.saving.models import adam, network
from tests.training.models import Model, points
from wengert.plugins import SGD
from wengert.saving import files, load, save
from wengert.training import fit

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and locks of files are those of POSIX")


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o027)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o400, 0o666, 0o755])
def test_the_mode_of_the_file_is_kept(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "w"
    save(path, network(adam()))
    assert mode(path) == 0o640, "a new file is as the umask says"
    path.chmod(kept)
    before = os.stat(path)
    save(path, network(adam(), seed=1))
    after = os.stat(path)
    assert mode(path) == kept and after.st_ino != before.st_ino
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    os.symlink("w", tmp_path / "link")
    save(tmp_path / "link", network(adam(), seed=2))
    assert os.readlink(tmp_path / "link") == "w" and mode(path) == kept


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_of_the_file_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "w"
    save(path, network(adam()))
    os.chown(path, 1234, 2345)
    path.chmod(0o640)
    save(path, network(adam()))
    assert (os.stat(path).st_uid, os.stat(path).st_gid, mode(path)) == (1234, 2345, 0o640)


def test_what_one_group_may_is_nothing_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w"
    path.write_bytes(b"")
    path.chmod(0o664)
    if os.geteuid() == 0:
        os.chown(path, -1, 2345)
    else:
        monkeypatch.setattr(files, "_before", lambda place: os.stat("/"))  # another group
    before = files._before(str(path))

    def refused(*given: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refused)
    handle = os.open(tmp_path / "new", os.O_CREAT | os.O_RDWR, 0o600)
    assert before is not None and os.fstat(handle).st_gid != before.st_gid
    files._keep_mode(handle, before)
    os.close(handle)
    assert mode(tmp_path / "new") == stat.S_IMODE(before.st_mode) & ~0o070


def test_nobody_reads_a_private_file_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "w", []
    save(path, network(adam()))
    path.chmod(0o600)
    written = os.open

    def watching(name: Any, *given: Any, **options: Any) -> int:
        handle = written(name, *given, **options)
        if str(name).endswith(".partial"):
            seen.append(stat.S_IMODE(os.fstat(handle).st_mode))
        return handle

    monkeypatch.setattr(os, "open", watching)
    save(path, network(adam()))
    assert seen == [0o600]


# -- leftovers ------------------------------------------------------------------------------------

LEFT = ".w.0123456789abcdef.partial"
OTHERS = {
    ".v.0123456789abcdef.partial",
    ".w.x.partial",
    ".w.0123456789abcdef0.partial",
    "w.0123456789abcdef.partial",
}


@pytest.mark.parametrize("how", ["save", "load", "fit", "resume", "best"])
def test_what_a_killed_process_has_left_is_removed(tmp_path: Path, how: str) -> None:
    path, model = tmp_path / "w", Model()
    if how in ("load", "resume"):
        fit(model.loss, points(), seed=0, epochs=1, weights=model, checkpoint=path)
    for name in {LEFT, *OTHERS}:
        (tmp_path / name).write_bytes(b"half")
    os.mkdir(tmp_path / ".w.000000000000000a.partial")
    os.mkfifo(tmp_path / ".w.000000000000000c.partial")
    os.symlink("v", tmp_path / ".w.000000000000000b.partial")
    match how:
        case "save":
            save(path, model)
        case "load":
            load(path, model)
        case "fit" | "resume":
            fit(
                model.loss, points(), seed=0, epochs=2, weights=model, checkpoint=path, resume=how == "resume"
            )
        case "best":
            fit(model.loss, points(), seed=0, steps=1, weights=model, checkpoint=tmp_path / "c", best=path)
    there = set(os.listdir(tmp_path))
    assert LEFT not in there and there >= OTHERS
    assert {".w.000000000000000a.partial", ".w.000000000000000b.partial"} < there


SLOW = """
import os, sys, time
import numpy as np
from wengert.plugins import SGD
from wengert.saving import save

sync = os.fsync
def slow(handle):
    os.fsync = sync  # of the folder
    print("writing", flush=True)
    sys.stdin.readline()
    sync(handle)
os.fsync = slow
save(sys.argv[1], [SGD(learning_rate=0.1).double_weight(7.0, name="w")])
"""


@pytest.mark.slow
def test_the_file_of_a_living_writer_stays(tmp_path: Path) -> None:
    path = tmp_path / "w"
    w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    save(path, [w])
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None and other.stdout is not None
        assert other.stdout.readline() == "writing\n"
        (partial,) = set(os.listdir(tmp_path)) - {"w"}
        for _ in range(3):
            load(path, [w])
            save(path, [w])
        assert partial in os.listdir(tmp_path)
        other.stdin.write("\n")
        other.stdin.flush()
    assert other.returncode == 0 and os.listdir(tmp_path) == ["w"]
    load(path, [w])
    assert w.data == 7.0


@pytest.mark.slow
def test_the_file_of_a_killed_writer_goes(tmp_path: Path) -> None:
    path = tmp_path / "w"
    w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    save(path, [w])
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None and other.stdout.readline() == "writing\n"
        other.send_signal(signal.SIGKILL)
    assert len(os.listdir(tmp_path)) == 2
    load(path, [w])
    assert os.listdir(tmp_path) == ["w"] and w.data == 2.0


def test_a_file_that_is_removed_before_it_is_locked_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, locked, times = tmp_path / "w", files._locked, []

    def too_late(handle: int, beside: str) -> bool:
        times.append(beside)
        if len(times) < 3:
            files.remove_partial(str(path))  # as another process does between the two calls
        return locked(handle, beside)

    monkeypatch.setattr(files, "_locked", too_late)
    w = SGD(learning_rate=0.1).double_weight(2.0, name="w")
    save(path, [w], step=5)
    assert len({*times}) == 3 and os.listdir(tmp_path) == ["w"] and load(path, [w]).step == 5


SAVERS = """
import os, sys
import numpy as np
from wengert.plugins import SGD
from wengert.saving import load, save
path = sys.argv[1]
w = SGD(learning_rate=0.1).array_weight(np.full(5000, float(sys.argv[2])), name="w")
for i in range(int(sys.argv[3])):
    if sys.argv[2] == "0":
        load(path, [w])
        assert len({*w.data.tolist()}) == 1, "torn"
    else:
        save(path, [w], step=i)
"""


@pytest.mark.slow
def test_four_savers_and_a_loader_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = tmp_path / "w"
    save(path, [SGD(learning_rate=0.1).array_weight(np.ones(5000), name="w")])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SAVERS, path, str(who), "150"], stderr=subprocess.PIPE, text=True
        )
        for who in range(5)
    ]
    for process in running:
        assert process.communicate()[1] == "" and process.returncode == 0
    assert os.listdir(tmp_path) == ["w"]
