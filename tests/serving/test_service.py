"""The web service among the examples, started as its page says and called over HTTP."""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wengert as wg
from tests.test_examples import example
from wengert import nn, saving
from wengert.data import digits

SERVICE = Path(__file__).resolve().parents[2] / "examples" / "service.py"
Reply = tuple[int, Any]
DIGITS = digits()  # read once: each reading takes longer than an answer


async def call(port: int, method: str, path: str, body: object = None) -> Reply:
    """Status and answer of one request, on a connection of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(data)}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + data)
    await writer.drain()
    got = await reader.read()
    writer.close()
    top, _, rest = got.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(rest)


async def started(port: int) -> None:
    for _ in range(600):
        try:
            await call(port, "GET", "/served")
        except OSError:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError("the service did not start within 30 s")


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of weights, which the service makes."""
    return tmp_path_factory.mktemp("service") / "weights.safetensors"


@pytest.fixture(scope="module")
def port(weights: Path) -> Iterator[int]:
    """The port of a running service."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (most, most)
    )  # each of a thousand requests has a socket on either side
    command = [sys.executable, str(SERVICE), "--port", str(number), "--weights", str(weights)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        asyncio.run(started(number))
        yield number
    finally:
        process.terminate()
        process.wait(20)


def pixels(i: int) -> dict[str, list[float]]:
    return {"pixels": (DIGITS.images[i] + 0.5).tolist()}


@pytest.mark.slow
def test_a_thousand_concurrent_requests_are_answered_in_few_runs_while_weights_are_loaded(port: int) -> None:
    async def crowd() -> tuple[list[Reply], Reply, Reply]:
        tasks = [asyncio.create_task(call(port, "POST", "/digit", pixels(i))) for i in range(1000)]
        await asyncio.sleep(0.2)
        loaded = await call(port, "POST", "/reload")
        return await asyncio.gather(*tasks), loaded, await call(port, "GET", "/served")

    replies, loaded, (_, served) = asyncio.run(crowd())
    assert {status for status, _ in replies} == {200} and loaded[0] == 200
    right = sum(reply["digit"] == DIGITS.labels[i] for i, (_, reply) in enumerate(replies))
    assert right > 900
    assert served["requests"] >= 1000 and served["runs"] < 500, served


def versions(folder: Path, count: int) -> tuple[list[Path], list[list[Any]]]:
    """Files of weights, and the probabilities of ten digits that each gives for the first fifty images."""
    service, paths, right = example("service"), list[Path](), list[list[Any]]()
    for k in range(count):
        model = nn.Sequential(
            nn.Linear.make(service.settings, 64, 64, seed=10 + k),
            wg.relu,
            nn.Linear.make(service.settings, 64, 10, seed=50 + k),
        )
        paths.append(folder / f"{k}.safetensors")
        saving.save(paths[-1], model)
        right.append([wg.softmax(model(DIGITS.images[i])).predict().run() for i in range(50)])
    return paths, right


@pytest.mark.slow
def test_each_answer_over_http_is_of_one_version_of_the_weights(
    port: int, weights: Path, tmp_path: Path
) -> None:
    paths, right = versions(tmp_path, 5)
    trained, few = weights.read_bytes(), asyncio.Semaphore(64)
    pending: list[asyncio.Task[set[int]]] = []

    async def become(data: bytes) -> None:
        (tmp_path / "next").write_bytes(data)
        (tmp_path / "next").replace(weights)
        assert (await call(port, "POST", "/reload"))[0] == 200

    async def one(i: int) -> set[int]:
        async with few:
            status, reply = await call(port, "POST", "/digit", pixels(i))
            assert status == 200
            return {
                k
                for k, scores in enumerate(right)
                if reply["digit"] == scores[i].argmax() and abs(reply["probability"] - scores[i].max()) < 1e-5
            }

    async def crowd() -> list[set[int]]:
        try:
            for path in [*paths, *paths]:
                await become(path.read_bytes())
                pending.extend(asyncio.create_task(one(i)) for i in range(50))
                await asyncio.sleep(
                    0.05
                )  # some are answered before the next version is there, and some after
            return await asyncio.gather(*pending)
        finally:
            await become(trained)

    seen = asyncio.run(crowd())
    assert len(seen) == 500 and {len(x) for x in seen} == {1} and {k for x in seen for k in x} == {*range(5)}


@pytest.mark.slow
def test_an_image_of_another_size_is_refused(port: int) -> None:
    status, told = asyncio.run(call(port, "POST", "/digit", {"pixels": [0.0] * 63}))
    assert status == 422 and "at least 64 items" in told["detail"][0]["msg"]
