"""The engine over Ray: processes on one machine or many; the only module that imports ray.

Knows: that authentication is on, and its token in a file that others cannot read, before the first process starts; that
Ray retries nothing here, as whoever sends a message decides that; which of Ray's errors say that a process has died.
Workers are actors that are begun here, one for each core of each machine, and not tasks of Ray's: its raylets lose a
core whose worker dies at the moment that a task is given to it, and then wait for that core without end.
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
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import Any, Final, Generic, NamedTuple, TypeVar

from wengert.cluster.distributed import Distributing
from wengert.cluster.messages import Failed, answer, carried
from wengert.errors import ArgumentError, ClusterError, NodeLostError, PackageError
from wengert.packages import optional
from wengert.site import user_position

R = TypeVar("R")
V = TypeVar("V")
_OLDEST: Final = (2, 52)  # the first with authentication by tokens
_THERE: Final = 5.0  # seconds in which whoever listens at an address takes a connection
_began_here: Final[list[bool]] = []  # whether ray has read the variables that are set here
_WORKER: Final = "a worker"
_DEPTH: Final = 2  # messages that a worker has at once: the next one is there when it is done
_STARTS: Final = (
    5.0  # seconds that a process may take to start before another is begun; twice as many each time
)
_MOST: Final = 60.0  # of those
_SLOWER: Final = 2.0  # times as long as the last one that has started, and those before them
_FRESH: Final = 0.5  # seconds for which the number of machines is believed
_QUIET: Final = 1.0  # seconds after which one that has nothing to do is asked whether it is there
_ENVIRONMENT: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",  # what Ray would do to devices that a worker does not have
    "RAY_DEDUP_LOGS": "0",
}
_HERE: Final = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # the default there: this machine alone
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
        with carried(*args):
            return self._engine.sent(self._name, lambda: self._actor.call.remote(method, args))

    def close(self) -> None:
        """End it: see `PlacedObject`."""
        end(self._actor)


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


class ShardWorker:
    """Program of a process that computes shards: messages one at a time."""

    def call(self, function: Callable[..., object], args: tuple[object, ...]) -> object:
        """The answer of a function."""
        return answer(function, args)


@dataclass(eq=False)
class WorkerHandle:
    """A worker as this process sees it: its actor, its machine, whether it has begun, and what it has not answered."""

    actor: Any
    machine: str
    beginning: Any  # Ray's reference of its first answer; None once that is there
    since: float
    asked: float  # the same moment on the clock that others have, too
    heard: float = 0.0  # when it has last begun or answered
    unanswered: set[Future[Any]] = field(default_factory=set)
    replaced: bool = False  # nothing more is sent to it
    check: Any = (
        None  # Ray's reference of its answer to whether it is there; None if that is there, or was not asked
    )
    checked: float = 0.0  # when it was asked


class WorkerPool:
    """As many workers on each machine as it has cores: one that has died, or is late, is replaced there.

    Once these have begun there is a spare one, which gets messages in the place of the first that is gone: a process
    takes seconds to start, tens of them on a machine that is busy. Of workers that have as little to do, the one that
    has answered last is asked, as another may have stopped since. Those that have nothing to do, as a spare one, are
    asked every second whether they are there, and replaced where they are not: what waited for one would for another.
    One that does not begin in time is replaced as well, and the next one has twice the time, so that a machine on which
    processes start slowly gets there; once one has, the time is that of its start again, so that a stopped one is not
    waited for as long as the slowest ever. Nothing is sent to one that has not begun: a machine that has just died
    counts as there, for as long as Ray has not noticed, and what is begun on it never answers.
    """

    def __init__(self) -> None:
        self._workers: list[WorkerHandle] = []
        self._cores: dict[str, int] = {}
        self._counted = -_FRESH
        self._starts = _STARTS
        self._actor = _ray().remote(ShardWorker)
        self._affinity = import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
        self._lock = RLock()

    def count(self) -> int:
        """Number of workers that there are to be, on the machines that are there now."""
        with self._lock:
            now = time.monotonic()
            if now - self._counted >= _FRESH:
                nodes = [node for node in _ray().nodes() if node["Alive"]]
                self._cores = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in nodes}
                self._counted = now
                late = [x for x in self._workers if x.beginning is not None and now - x.since >= self._starts]
                silent = self._silent(now)
                for x in [*self._workers]:
                    if x.machine not in self._cores or x in late or x in silent:
                        self._workers.remove(x)
                        end(x.actor)
                if late:
                    self._starts = min(2.0 * self._starts, _MOST)
                self._fill()
            return sum(self._cores.values())

    def _silent(self, now: float) -> list[WorkerHandle]:
        """Ask those that have nothing to do whether they are there; those that have not answered for too long."""
        self._hear()
        for x in self._workers:
            idle = x.beginning is None and x.check is None and not x.unanswered
            if idle and now - x.heard >= _QUIET:
                with suppress(_ray().exceptions.RayError):  # it has died
                    x.check, x.checked = x.actor.call.remote(time.time, ()), now
        return [x for x in self._workers if x.check is not None and now - x.checked >= self._starts / 2.0]

    def _hear(self) -> None:
        """Note who has said that it is there; another one takes the place of one that has died."""
        ray, now = _ray(), time.monotonic()
        for x in [x for x in self._workers if x.check is not None and ray.wait([x.check], timeout=0)[0]]:
            try:
                ray.get(x.check)
                x.check, x.heard = None, now
            except ray.exceptions.RayError:
                self._workers.remove(x)

    def _fill(self) -> None:
        there = Counter(x.machine for x in self._workers)
        begun = Counter(x.machine for x in self._workers if x.beginning is None)
        for machine, cores in self._cores.items():
            where = self._affinity(node_id=machine, soft=False)
            spare = 0 < cores <= begun[machine]
            for _ in range(cores + spare - there[machine]):
                actor = self._actor.options(num_cpus=0, scheduling_strategy=where).remote()
                beginning = actor.call.remote(time.time, ())  # when it has, whenever that is heard of here
                self._workers.append(WorkerHandle(actor, machine, beginning, time.monotonic(), time.time()))

    def starting(self) -> list[Any]:
        """References that are there when a worker has begun, or has not been able to."""
        return [x.beginning for x in self._workers if x.beginning is not None]

    def free(self) -> WorkerHandle | None:
        """The worker for another message; None where all have enough. Raises ClusterError for one with other code."""
        with self._lock:
            self.count()
            ray = _ray()
            for x in [
                x for x in self._workers if x.beginning is not None and ray.wait([x.beginning], timeout=0)[0]
            ]:
                try:
                    took = ray.get(x.beginning) - x.asked
                    x.beginning, x.heard = None, time.monotonic()
                    self._starts = min(max(_STARTS, _SLOWER * took), _MOST)
                except ray.exceptions.RayError as failure:
                    self._workers.remove(x)  # another one is begun when the machines are looked at next
                    if _cannot_begin(failure):
                        raise _other_code(_WORKER, failure) from None
            self._hear()
            now, places, free = time.monotonic(), Counter(self._cores), list[WorkerHandle]()
            for x in self._workers:
                if x.beginning is None and places[x.machine]:
                    places[x.machine] -= 1  # those after the last place are spare
                    free += [x] * (len(x.unanswered) < _DEPTH)
            quiet = {id(x): x.check is not None and now - x.checked >= _QUIET for x in free}
            return min(free, key=lambda x: (quiet[id(x)], len(x.unanswered), -x.heard), default=None)

    def replace(self, worker: WorkerHandle) -> None:
        """Send nothing more to a worker; another one is begun in its place."""
        with self._lock:
            worker.replaced = True
            if worker in self._workers:
                self._workers.remove(worker)
                self._fill()

    def answered(self, worker: WorkerHandle, future: Future[Any]) -> None:
        """Note that nobody waits for a message of a worker any more; one that is replaced and has no other is ended."""
        with self._lock:
            worker.unanswered.discard(future)
            if worker.replaced and not worker.unanswered:
                end(worker.actor)


def _cannot_begin(failure: Any) -> bool:
    """True if the process of an actor is there, and could not read what it is to do."""
    return bool(getattr(failure, "actor_init_failed", False))


def _other_code(to: str, failure: Exception) -> ClusterError:
    said = str(failure).strip().rpartition("\n")[2][:300]
    return ClusterError(f"{to} could not begin: {said}; install the same code on all machines")


def end(actor: Any) -> None:
    """End the process of an actor."""
    with suppress(Exception):  # it may be gone, and Ray with it
        _ray().kill(actor)


class QueuedMessage(NamedTuple):
    """A message that waits for a worker which has time for it."""

    future: Future[Any]
    function: Callable[..., object]
    args: tuple[object, ...]


class SentMessage(NamedTuple):
    """A message that is not answered: Ray's reference, to whom, and which worker if it is one."""

    ref: Any
    to: str
    worker: WorkerHandle | None = None


class Rays(Distributing):
    """An engine of Ray's processes: of a Ray that is started here, and ended by `close`, or of one at an address."""

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        if workers is not None and (address is not None or workers < 1):
            raise ArgumentError(
                f"Cluster: workers are 1 or more, and counted by a cluster that is started here; got {workers}, "
                f"address {address!r}\n  at {user_position()}"
            )
        self._queue: deque[QueuedMessage] = deque()
        self._sent: dict[Future[Any], SentMessage] = {}
        self._lock = RLock()
        self._deaths: list[str] = []
        self._closed = False
        self._children: list[tuple[int, str]] = []
        self._before: dict[str, str | None] = {}
        self._token = None if address is not None else _token_file()
        try:
            self._begin(address, workers)
        except BaseException:
            self.close()
            raise
        self._pool = WorkerPool()
        self._actor = _ray().remote(Actor)
        self._pool.count()

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
                where, advice = "on this machine", ""
                if address is not None:
                    token = os.environ.get("RAY_AUTH_TOKEN_PATH", "which is not set")
                    where, advice = (
                        f"at {address}",
                        "; somebody listens there, so it is no head of a Ray cluster, or one with another version of "
                        f"Ray, or with another token than that of RAY_AUTH_TOKEN_PATH, {token}",
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
        return 0 if self._closed else self._pool.count()

    @property
    def unanswered(self) -> int:
        """Number of messages that are neither answered nor abandoned."""
        return len(self._sent) + len(self._queue)

    def submit(self, function: Callable[..., R], /, *args: object) -> Future[R]:
        """Send a message, as soon as a worker has time for it: see `Engine`."""
        future = Future[R]()
        if self._closed or not self._pool.count():
            future.set_exception(NodeLostError("there is no worker, and nobody answers a message"))
            return future
        with self._lock:
            self._queue.append(QueuedMessage(future, function, args))
        self._dispatch()
        refused = future.exception() if future.done() else None
        if isinstance(refused, ArgumentError):
            raise refused
        return future

    def _dispatch(self) -> None:
        """Send what is queued to workers that have time."""
        with self._lock:
            while self._queue and (worker := self._pool.free()) is not None:
                future, function, args = self._queue.popleft()
                try:
                    with carried(*args):
                        ref = worker.actor.call.remote(function, args)
                except ArgumentError as failure:
                    future.set_exception(failure)
                except _ray().exceptions.RayError as failure:
                    self._lost(future, SentMessage(None, _WORKER, worker), failure)
                else:
                    worker.unanswered.add(future)
                    self._sent[future] = SentMessage(ref, _WORKER, worker)

    def sent(self, to: str, send: Callable[[], Any]) -> Future[Any]:
        """The future of what Ray sends to somebody."""
        future = Future[Any]()
        if self._closed:
            future.set_exception(NodeLostError(f"the cluster is closed, and {to} answers no message"))
            return future
        try:
            self._sent[future] = SentMessage(send(), to)
        except _ray().exceptions.RayError as failure:
            self._lost(future, SentMessage(None, to), failure)
        return future

    def wait(self, futures: Collection[Future[Any]], timeout: float) -> set[Future[Any]]:
        """Wait for one of these: see `Engine`."""
        end, ray = time.monotonic() + timeout, _ray()
        while True:
            self._dispatch()
            done = {future for future in futures if future.done()}
            left = end - time.monotonic()
            if done or left <= 0.0:
                return done
            refs = {self._sent[future].ref: future for future in futures if future in self._sent}
            starting = self._pool.starting() if self._queue else []
            if self._queue:
                left = min(left, _FRESH)  # machines may come meanwhile
            if not refs and not starting:
                time.sleep(left)
                continue
            ready, rest = ray.wait([*refs, *starting], num_returns=1, timeout=left)
            if ready and rest:
                ready += ray.wait(rest, num_returns=len(rest), timeout=0)[0]
            for ref in ready:
                if ref in refs:
                    self._settle(refs[ref])

    def _settle(self, future: Future[Any]) -> None:
        sent = self._sent.pop(future)
        ray = _ray()
        try:
            found = ray.get(sent.ref)
        except ray.exceptions.RayTaskError as failure:  # before the function was called
            cause = failure.cause if isinstance(failure.cause, Exception) else failure
            said = str(cause).partition("\n")[0][:300]
            future.set_exception(
                ClusterError(
                    f"a message to {sent.to} could not be read there: {said}; install the same code on all machines"
                )
            )
        except ray.exceptions.RayError as failure:
            self._lost(future, sent, failure)
        else:
            if sent.worker is not None:
                sent.worker.heard = time.monotonic()
            if isinstance(found, Failed):
                future.set_exception(found.exception())
            else:
                future.set_result(found)
        if sent.worker is not None:
            self._pool.answered(sent.worker, future)

    def _lost(self, future: Future[Any], sent: SentMessage, failure: Exception) -> None:
        if _cannot_begin(failure):
            future.set_exception(_other_code(sent.to, failure))
            return
        self._deaths.append(sent.to)
        said = " ".join(str(failure).split())[:200]
        future.set_exception(NodeLostError(f"{sent.to} has died ({type(failure).__name__}): {said}"))
        if sent.worker is not None:
            self._pool.replace(sent.worker)

    def late(self, future: Future[Any]) -> None:
        """Send nothing more to whoever is late: see `Engine`."""
        worker = self._sent[future].worker if future in self._sent else None
        if worker is not None:
            self._pool.replace(worker)

    def abandon(self, future: Future[Any]) -> None:
        """Forget a message: see `Engine`."""
        with self._lock:
            self._queue = deque(x for x in self._queue if x.future is not future)
            sent = self._sent.pop(future, None)
        future.cancel()
        if sent is not None and sent.worker is not None:
            with suppress(Exception):  # it may have ended by itself
                _ray().cancel(sent.ref, force=False)
            self._pool.answered(sent.worker, future)

    def put(self, value: V) -> RayRef[V]:
        """Put a value: see `Engine`."""
        with carried(value):
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
        unanswered = [
            *((x.future, _WORKER) for x in self._queue),
            *((f, x.to) for f, x in self._sent.items()),
        ]
        for future, to in unanswered:
            future.set_exception(NodeLostError(f"the cluster is closed, and {to} answers no message"))
        self._sent.clear()
        self._queue.clear()
        if not self._before:  # nothing was begun
            return
        children = {*self._children, *(descendants() if self._token is not None else ())}
        with warnings.catch_warnings():
            # Ray lets go of processes that it has just ended
            warnings.simplefilter("ignore", ResourceWarning)
            if "ray" in sys.modules:  # else it is not installed
                sys.modules["ray"].shutdown()
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
def _without_more_threads() -> Generator[None]:
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
def _on_this_machine(alone: bool) -> Generator[None]:
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
