"""A Tree-LSTM that answers concurrent requests: joined by `Batcher`, and each by itself in a thread.

    python -m benchmarks.serving                  # a minute
    python -m benchmarks.serving --requests 200   # a look
    python -m benchmarks.serving --http           # over HTTP, all requests at once

A request is a tree of 5 to 30 leaves, and 50 are on their way at any time. Rounds of the two ways take turns; a
figure is the median over the rounds. CPU time counts the whole process; over HTTP that of the service, a process of
FastAPI. There a request has a connection that no other uses at the time, and that was open before. Needs the extra
`serving` for that.

Knows: requests, ways to answer them, and what is measured of them.
Refuses to know: models of others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import uvicorn
from fastapi import FastAPI, Request

import wengert as wg
from wengert.arrays.pools import called_on_one_blas_thread
from wengert.nn import Embedding, Linear, TreeLSTM
from wengert.plugins import SGD
from wengert.serving import Batcher

WORDS = 1000
TOGETHER = 50
LIMIT = 256  # requests in one run, of the thousand that a service has at once
Tree: TypeAlias = "int | tuple[Tree, Tree]"
Ask: TypeAlias = Callable[[Tree], Awaitable[Any]]  # Any: an array


class Figures(NamedTuple):
    """Of one round: requests a second; CPU a request, median and 99th percentile of waiting, in milliseconds."""

    rate: float
    cpu: float
    p50: float
    p99: float


class Classifier:
    """Trees of words to the scores of five classes."""

    def __init__(self, width: int) -> None:
        settings = SGD(learning_rate=0.1)
        self.words = Embedding.make(settings, WORDS, width, seed=0)
        self.lstm = TreeLSTM.make(settings, width, width, seed=1)
        self.top = Linear.make(settings, width, 5, seed=2)
        self.leaf, self.node = wg.cell(self.lstm.leaf), wg.cell(self.lstm.node)

    def state(self, tree: Tree) -> Any:  # Any: what a cell gives
        """The state of a tree; these trees are not deep."""
        if isinstance(tree, int):
            return self.leaf(self.words(np.array(tree)))
        return self.node(self.state(tree[0]), self.state(tree[1]))

    def __call__(self, tree: Tree) -> wg.Do[Any]:  # Any: an array
        return self.top(self.state(tree)[0]).predict()


def tree(leaves: int, chance: np.random.Generator) -> Tree:
    """A random binary tree."""
    if leaves == 1:
        return int(chance.integers(WORDS))
    left = int(chance.integers(1, leaves))
    return tree(left, chance), tree(leaves - left, chance)


async def measured(
    ask: Ask,
    requests: Sequence[Tree],
    together: int = TOGETHER,
    used: Callable[[], Awaitable[float]] | None = None,
) -> Figures:
    """Ask for all, so many at a time; `used` gives the CPU time of who answers, if that is another process."""
    few, waited = asyncio.Semaphore(together), []

    async def one(request: Tree) -> None:
        async with few:
            begun = perf_counter()
            await ask(request)
            waited.append(perf_counter() - begun)

    wall, cpu = perf_counter(), process_time() if used is None else await used()
    await asyncio.gather(*map(one, requests))
    wall, cpu = perf_counter() - wall, (process_time() if used is None else await used()) - cpu
    p50, p99 = np.percentile(waited, [50, 99])
    return Figures(len(requests) / wall, 1e3 * cpu / len(requests), 1e3 * p50, 1e3 * p99)


async def rounds(count: int, requests: int, width: int) -> tuple[list[Figures], list[Figures], float]:
    """The figures of both ways, and how many requests a run had."""
    model, chance = Classifier(width), np.random.default_rng(0)
    alone: list[Figures] = []
    joined: list[Figures] = []
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as thread:

        async def by_itself(request: Tree) -> Any:  # Any: an array
            return await loop.run_in_executor(thread, lambda: model(request).run())

        async with Batcher(model) as batcher:
            for number in range(count + 1):
                trees = [tree(int(chance.integers(5, 31)), chance) for _ in range(requests)]
                of_round = [await measured(ask, trees) for ask in (by_itself, batcher)]
                if number:  # the first warms
                    alone.append(of_round[0])
                    joined.append(of_round[1])
            return alone, joined, batcher.served.requests / batcher.served.runs


def serve(port: int, width: int) -> None:
    """The service: POST /alone and /joined with a tree give scores, GET /used its CPU time, and requests and runs."""
    model, app = Classifier(width), FastAPI()
    thread, batcher = ThreadPoolExecutor(1), Batcher(model, limit=LIMIT)

    async def alone(request: Request) -> list[float]:
        asked: Tree = await request.json()
        loop = asyncio.get_running_loop()
        found: list[float] = (await loop.run_in_executor(thread, lambda: model(asked).run())).tolist()
        return found

    async def joined(request: Request) -> list[float]:
        found: list[float] = (await batcher(await request.json())).tolist()
        return found

    async def used() -> tuple[float, int, int]:
        return process_time(), batcher.served.requests, batcher.served.runs

    app.post("/alone")(alone)
    app.post("/joined")(joined)
    app.get("/used")(used)
    uvicorn.run(app, port=port, log_level="warning", backlog=4096, timeout_keep_alive=3600)


class Connections:
    """Connections to the service, which stay open: as many as requests were on their way at once."""

    def __init__(self, port: int) -> None:
        self.port, self.free = port, deque[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()

    async def open(self, count: int) -> None:
        """Have so many that are free."""
        for _ in range(count - len(self.free)):
            self.free.append(await asyncio.open_connection("127.0.0.1", self.port))

    async def call(self, path: str, body: object = None) -> Any:  # Any: JSON
        """The answer of the service to one request, on a connection that no other request has."""
        if not self.free:
            await self.open(1)
        reader, writer = self.free.pop()
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: x\r\n"
        writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
        top = (await reader.readuntil(b"\r\n\r\n")).lower()
        rest = await reader.readexactly(int(top.partition(b"content-length: ")[2].partition(b"\r")[0]))
        assert top.split()[1] == b"200", (top, rest)
        self.free.append((reader, writer))
        return json.loads(rest)

    async def close(self) -> None:
        """Have none any more."""
        while self.free:
            _, writer = self.free.pop()
            writer.close()
            await writer.wait_closed()


async def over_http(port: int, count: int, requests: int) -> tuple[list[Figures], list[Figures], float]:
    """As `rounds`, of a service that is there, all requests at once."""
    chance, found = np.random.default_rng(0), {"/alone": list[Figures](), "/joined": list[Figures]()}
    service = Connections(port)
    await service.open(requests)

    async def used() -> float:
        return float((await service.call("/used"))[0])

    for number in range(count + 1):
        trees = [tree(int(chance.integers(5, 31)), chance) for _ in range(requests)]
        for path, figures in found.items():
            of_round = await measured(partial(service.call, path), trees, requests, used)
            figures += [of_round] * (number > 0)  # the first warms
    _, answered, runs = await service.call("/used")
    await service.close()
    return found["/alone"], found["/joined"], answered / runs


def with_service(count: int, requests: int, width: int) -> tuple[list[Figures], list[Figures], float]:
    """Start a service, measure, and end it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each request has a socket on either side
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    service = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.serving", "--port", str(port), "--width", str(width)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    try:
        for _ in range(600):
            with suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            sleep(0.05)
        return asyncio.run(over_http(port, count, requests))
    finally:
        service.terminate()
        service.wait(20)


def table(alone: Sequence[Figures], joined: Sequence[Figures], size: float) -> str:
    """Both ways, and the median of the ratios of each round."""
    lines = [f"{'':12}{'requests/s':>12}{'CPU ms':>10}{'p50 ms':>10}{'p99 ms':>10}"]
    for name, of in (("one by one", alone), ("Batcher", joined)):
        lines.append(
            f"{name:12}{median(x.rate for x in of):12.0f}"
            + "".join(f"{median(x[i] for x in of):10.2f}" for i in (1, 2, 3))
        )
    both = [*zip(alone, joined, strict=True)]
    ratios, less = [b.rate / a.rate for a, b in both], median(a.cpu / b.cpu for a, b in both)
    lines.append(
        f"throughput {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}), requests a second of CPU "
        f"{less:.2f}, {size:.1f} requests a run"
    )
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Requests a second, joined and one by one.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=1000)
    parser.add_argument("--width", type=int, default=128, help="numbers of a state")
    parser.add_argument("--http", action="store_true", help="over HTTP, all requests at once")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)  # to be the service
    options = parser.parse_args(arguments)
    if options.port is not None:
        serve(options.port, options.width)
        return
    if options.http:
        found = with_service(options.rounds, options.requests, options.width)
    else:
        work = rounds(options.rounds, options.requests, options.width)
        found = called_on_one_blas_thread(lambda: asyncio.run(work))
    print(table(*found))


if __name__ == "__main__":
    main()
