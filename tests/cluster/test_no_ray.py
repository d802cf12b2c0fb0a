"""Clusters without Ray, with one that is too old, and with one that refuses: one error each, and nothing is changed."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wengert.cluster import Cluster
from wengert.cluster.rays import descendants
from wengert.errors import ClusterError, PackageError

Install = Callable[[str], None]


def variables() -> dict[str, str]:
    """The environment, without what pytest writes there."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Install]:
    """Have `import ray` run a text in place of what is installed; afterwards it is as it was."""
    was = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "ray"}
    for name in was:
        del sys.modules[name]
    monkeypatch.setattr("wengert.cluster.rays._began_here", [])
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> None:
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "__init__.py").write_text(text)

    environment = variables()
    yield write
    assert variables() == environment and not descendants()
    for name in [x for x in sys.modules if x.partition(".")[0] == "ray"]:
        del sys.modules[name]
    sys.modules.update(was)


def test_without_ray_it_is_said_what_to_install(install: Install) -> None:
    install("raise ModuleNotFoundError('No module named ray')")
    with pytest.raises(PackageError, match=r"needs the package ray, .* pip install 'wengert\[cluster\]'"):
        Cluster()


def test_a_ray_without_tokens_is_refused(install: Install) -> None:
    install("__version__ = '2.40.1'\ndef shutdown() -> None: ...\n")
    with pytest.raises(
        PackageError, match=r"needs ray 2\.52 or newer, .* installed is 2\.40\.1; write pip install"
    ):
        Cluster()


def test_a_cluster_of_another_version_is_told(install: Install) -> None:
    install(
        "__version__ = '2.60.0'\ndef shutdown() -> None: ...\n"
        "def init(*args, **named): raise RuntimeError('Version mismatch: the cluster has Ray: 2.40.1')\n"
        "class private: ENABLE_RAY_CLUSTER = False\n"
        "import sys; sys.modules['ray._private.ray_constants'] = private\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with pytest.raises(
            ClusterError, match=rf"no cluster at {address} .*mismatch.* 2\.40\.1; somebody listens"
        ):
            Cluster(address)


@pytest.mark.parametrize(
    ("address", "said"),
    [("127.0.0.1:1", r"there is no cluster at 127\.0\.0\.1:1: .*refused"), ("head", "expected the address")],
)
def test_no_cluster_at_the_address(address: str, said: str, install: Install) -> None:
    install(
        "__version__ = '2.60.0'\ndef is_initialized() -> bool: return False\ndef shutdown() -> None: ...\n"
    )
    with pytest.raises(ClusterError, match=said):
        Cluster(address)
