"""The engine over Ray: processes on one machine or many; the only module that imports ray.

Knows: that authentication is on, and its token in a file that others cannot read, before the first process starts; that
Ray retries nothing here, as whoever sends a message decides that; which of Ray's errors say that a process has died.
Refuses to know: runs, weights, and what messages are for.
"""

from __future__ import annotations

import atexit
import gc
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from wengert.cluster.distributed import Distributing
from wengert.cluster.messages import Failed, answer
from wengert.errors import ArgumentError, ClusterError, NodeLostError, PackageError
from wengert.packages import optional
from wengert.site import user_position

R = TypeVar("R")
V = TypeVar("V")
_OLDEST: Final = (2, 52)  # the first with authentication by tokens
_THERE: Final = 5.0  # seconds in which whoever listens at an address takes a connection
_began_here: Final[list[bool]] = []  # whether ray has read the variables that are set here
_FRESH: Final = 0.5  # seconds for which the number of workers is believed
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what Ray would do to devices that a worker does not have
    "RAY_DEDUP_LOGS": "0",
}
_HERE: Final = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"
}  # as there by default: they listen on this machine alone
_ONE_THREAD: Final = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)


class RayRef(Generic[V]):
    """A value in Ray's object store."""

    def __init__(self, ref: Any) -> None:  # Any: Ray's, here and below, which has no types
        self._ref = ref

    def read(self) -> V:
        """The value: see `SharedRef`."""
        found: V = _ray().get(self._ref)
        return found


class RayPlace:
    """An object in an actor of Ray's."""

    def __init__(self, name: str, engine: Rays, actor: Any) -> None:
        self._name, self._engine, self._actor = name, engine, actor

    @property
    def name(self) -> str:
        """Its name: see `PlacedObject`."""
        return self._name

    def call(self, method: str, /, *args: object) -> Future[Any]:  # Any: as in `PlacedObject`
        """Send a message: see `PlacedObject`."""
        return self._engine.sent(self._name, lambda: self._actor.call.remote(method, args))

    def close(self) -> None:
        """End it: see `PlacedObject`."""
        with suppress(Exception):  # it may be gone, and Ray with it
            _ray().kill(self._actor)


class Actor:
    """Program of one of Ray's actors: an object that is made with the first message."""

    def __init__(self, make: Callable[..., object], args: tuple[object, ...]) -> None:
        self._make, self._args, self._made = make, args, list[object]()

    def call(self, method: str, args: tuple[object, ...]) -> object:
        """The answer of one method."""
        return answer(self._called, (method, args))

    def _called(self, method: str, args: tuple[object, ...]) -> object:
        if not self._made:
            self._made.append(self._make(*self._args))
        return getattr(self._made[0], method)(*args)


class Rays(Distributing):
    """An engine of Ray's processes: of a Ray that is started here, and ended by `close`, or of one at an address."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if workers is not None and (address is not None or workers < 1):
            raise ArgumentError(
                f"Cluster: workers are 1 or more, and counted by a cluster that is started here; got {workers}, "
                f"address {address!r}\n  at {user_position()}"
            )
        self._names: dict[
            Future[Any], tuple[Any, str]
        ] = {}  # of unanswered messages: Ray's reference, and to whom
        self._deaths: list[str] = []
        self._counted = (-_FRESH, 0)
        self._closed = False
        self._children: list[tuple[int, str]] = []
        self._before: dict[str, str | None] = {}
        self._token = None if address is not None else _token_file()
        try:
            self._begin(address, workers)
        except BaseException:
            self.close()
            raise
        ray = _ray()
        self._call = ray.remote(num_cpus=1, max_retries=0)(answer)
        self._actor = ray.remote(Actor)

    def _begin(self, address: str | None, workers: int | None) -> None:
        wanted = dict(_ENVIRONMENT)
        if self._token is not None:
            wanted |= {
                "RAY_AUTH_MODE": "token",
                "RAY_AUTH_TOKEN_PATH": str(self._token),
                **_HERE,
            }
        else:
            wanted |= {"RAY_AUTH_MODE": os.environ.get("RAY_AUTH_MODE", "token")}
        if "ray" in sys.modules and _ray().is_initialized():
            raise ClusterError("Ray is in use in this process already; close that cluster first")
        if "ray" in sys.modules and not _began_here and os.environ.get("RAY_AUTH_MODE") != "token":
            raise ClusterError(
                "ray was imported before, and has read that nobody needs a token; make the Cluster before anything "
                f"imports ray, or set RAY_AUTH_MODE=token before Python starts\n  at {user_position()}"
            )
        _began_here.append(True)
        if address is not None:
            _check_there(address)
        self._before = {name: os.environ.get(name) for name in wanted}  # put back by `close`
        os.environ.update(wanted)
        ray = _ray()
        with _without_more_threads(), _on_this_machine(address is None):
            quiet: dict[str, Any] = {
                "log_to_driver": False,
                "configure_logging": False,
                "logging_level": "error",
            }
            try:
                if address is None:
                    ray.init(
                        "local",
                        num_cpus=workers or len(os.sched_getaffinity(0)),
                        include_dashboard=False,
                        _node_ip_address="127.0.0.1",
                        **quiet,
                    )
                else:
                    ray.init(address, runtime_env={"env_vars": _ONE_THREAD}, **quiet)
            except Exception as failure:
                where = "on this machine" if address is None else f"at {address}"
                advice = (
                    ""
                    if address is None
                    else (
                        "; give that of its head, as in Cluster('10.0.0.1:6379'), and its token by RAY_AUTH_TOKEN_PATH"
                    )
                )
                raise ClusterError(
                    f"there is no cluster {where} that this process can use: {type(failure).__name__}: "
                    f"{' '.join(str(failure).split())[:300]}{advice}"
                ) from failure
            self._children = descendants() if address is None else []

    @property
    def now(self) -> float:
        """Seconds: see `Engine`."""
        return time.monotonic()

    @property
    def workers(self) -> int:
        """Number of workers: see `Engine`."""
        at, found = self._counted
        if time.monotonic() - at >= _FRESH:
            found = 0 if self._closed else int(_ray().cluster_resources().get("CPU", 0))
            self._counted = time.monotonic(), found
        return found

    @property
    def unanswered(self) -> int:
        """Number of messages that are neither answered nor abandoned."""
        return len(self._names)

    def submit(self, function: Callable[..., R], /, *args: object) -> Future[R]:
        """Send a message: see `Engine`."""
        return self.sent("a worker", lambda: self._call.remote(function, args))

    def sent(self, to: str, send: Callable[[], Any]) -> Future[Any]:
        """The future of what Ray sends."""
        future = Future[Any]()
        if self._closed:
            future.set_exception(NodeLostError(f"the cluster is closed, and {to} answers no message"))
            return future
        try:
            self._names[future] = send(), to
        except (TypeError, AttributeError) as failure:  # what Ray's pickle says
            raise ArgumentError(f"a message cannot be sent to another process: {failure!s:.300}") from failure
        except _ray().exceptions.RayError as failure:
            self._lost(future, to, failure)
        return future

    def wait(self, futures: Collection[Future[Any]], timeout: float) -> set[Future[Any]]:
        """Wait for one of these: see `Engine`."""
        done = {future for future in futures if future.done()}
        refs = {self._names[future][0]: future for future in futures if future in self._names}
        if done or not refs:
            if not done:
                time.sleep(timeout)
            return done
        ray = _ray()
        ready, rest = ray.wait([*refs], num_returns=1, timeout=timeout)
        if ready and rest:
            ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        for ref in ready:
            self._settle(refs[ref])
        return {refs[ref] for ref in ready}

    def _settle(self, future: Future[Any]) -> None:
        ref, to = self._names.pop(future)
        ray = _ray()
        try:
            found = ray.get(ref)
        except ray.exceptions.RayTaskError as failure:  # before the function was called
            cause = failure.cause if isinstance(failure.cause, Exception) else failure
            future.set_exception(ClusterError(f"a message to {to} could not be read there: {cause!s:.300}"))
        except ray.exceptions.RayError as failure:
            self._lost(future, to, failure)
        else:
            if isinstance(found, Failed):
                future.set_exception(found.exception())
            else:
                future.set_result(found)

    def _lost(self, future: Future[Any], to: str, failure: Exception) -> None:
        self._deaths.append(to)
        said = " ".join(str(failure).split())[:200]
        future.set_exception(NodeLostError(f"{to} has died ({type(failure).__name__}): {said}"))

    def abandon(self, future: Future[Any]) -> None:
        """Forget a message: see `Engine`."""
        ref, to = self._names.pop(future, (None, ""))
        future.cancel()
        if ref is not None and to == "a worker":
            with suppress(Exception):  # it may have ended by itself
                _ray().cancel(ref, force=False)

    def put(self, value: V) -> RayRef[V]:
        """Put a value: see `Engine`."""
        return RayRef(_ray().put(value))

    def place(self, name: str, make: Callable[..., object], /, *args: object, restarts: int = 0) -> RayPlace:
        """Make an object: see `Engine`."""
        options: dict[str, int] = {"num_cpus": 0, "max_restarts": restarts, "max_task_retries": 0}
        return RayPlace(name, self, self._actor.options(**options).remote(make, args))

    def deaths(self) -> list[str]:
        """Who died: see `Engine`."""
        found, self._deaths = self._deaths, []
        return found

    def close(self) -> None:
        """End what was begun here: see `Engine`."""
        if self._closed:
            return
        self._closed = True
        for future, (_, to) in [*self._names.items()]:
            future.set_exception(NodeLostError(f"the cluster is closed, and {to} answers no message"))
        self._names.clear()
        if not self._before:  # nothing was begun
            return
        children = {*self._children, *(descendants() if self._token is not None else ())}
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", ResourceWarning
            )  # Ray lets go of processes that it has just ended
            _ray().shutdown()
            gc.collect()
        for pid, began in children:  # a worker that is stopped does not hear that its raylet is gone
            if _began(pid) == began:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _ray() -> Any:
    """Ray, or a PackageError that says what to install."""
    ray = optional("ray", "ray", "wengert.cluster", "cluster")
    version = tuple(int(x) for x in ray.__version__.split(".")[:2])
    if version < _OLDEST:
        raise PackageError(
            f"wengert.cluster needs ray {'.'.join(map(str, _OLDEST))} or newer, which has authentication by tokens; "
            f"installed is {ray.__version__}; write pip install -U 'wengert[cluster]'"
        )
    return ray


def _check_there(address: str) -> None:
    """ClusterError where nobody listens at an address: Ray would ask for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit():
        raise ClusterError(
            f"expected the address of a cluster's head, as in '10.0.0.1:6379'; got {address!r}\n  at {user_position()}"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_THERE).close()
    except OSError as failure:
        raise ClusterError(
            f"there is no cluster at {address}: {failure}; give the address of its head\n  at {user_position()}"
        ) from failure


@cache
def _token_file() -> Path:
    """A token in a file that only this user can read, in a folder that only he can: one, as a process reads it once."""
    folder = tempfile.mkdtemp(prefix="wengert-")  # of mode 700
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "token"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(secrets.token_hex(32))
    return path


@contextmanager
def _without_more_threads() -> Iterator[None]:
    """One thread of BLAS for processes that are started within."""
    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    os.environ.update(_ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _on_this_machine(alone: bool) -> Iterator[None]:
    """Have Ray listen on this machine alone: `_HERE` for this process, which has read it if ray was imported before."""
    constants: Any = import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = before and not alone
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def descendants() -> list[tuple[int, str]]:
    """The processes that this one has started, and they in turn, each with when it began; none where /proc is not."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents.setdefault(int(path.read_text().rpartition(")")[2].split()[1]), []).append(
                int(path.parent.name)
            )
    found, todo = list[tuple[int, str]](), [os.getpid()]
    while todo:
        for pid in parents.get(todo.pop(), ()):
            todo.append(pid)
            with suppress(OSError):
                if b"ray" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append((pid, _began(pid)))
    return found


def _began(pid: int) -> str:
    """When a process began; empty if it is none any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""
