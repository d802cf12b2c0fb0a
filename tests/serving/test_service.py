"""The web service among the examples, started as its page says and called over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wengert.data import digits

SERVICE = Path(__file__).resolve().parents[2] / "examples" / "service.py"
Reply = tuple[int, Any]


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
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a running service."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number: int = free.getsockname()[1]
    weights = tmp_path_factory.mktemp("service") / "weights.safetensors"
    command = [sys.executable, str(SERVICE), "--port", str(number), "--weights", str(weights)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        asyncio.run(started(number))
        yield number
    finally:
        process.terminate()
        process.wait(20)


def pixels(i: int) -> dict[str, list[float]]:
    return {"pixels": (digits().images[i] + 0.5).tolist()}


@pytest.mark.slow
def test_a_thousand_concurrent_requests_are_answered_in_few_runs_while_weights_are_loaded(port: int) -> None:
    async def crowd() -> tuple[list[Reply], Reply, Reply]:
        few = asyncio.Semaphore(100)

        async def one(i: int) -> Reply:
            async with few:
                return await call(port, "POST", "/digit", pixels(i))

        tasks = [asyncio.create_task(one(i)) for i in range(1000)]
        await asyncio.sleep(0.2)
        loaded = await call(port, "POST", "/reload")
        return await asyncio.gather(*tasks), loaded, await call(port, "GET", "/served")

    replies, loaded, (_, served) = asyncio.run(crowd())
    assert {status for status, _ in replies} == {200} and loaded[0] == 200
    right = sum(reply["digit"] == digits().labels[i] for i, (_, reply) in enumerate(replies))
    assert right > 900
    assert served["requests"] >= 1000 and served["runs"] < 500, served


@pytest.mark.slow
def test_an_image_of_another_size_is_refused(port: int) -> None:
    status, told = asyncio.run(call(port, "POST", "/digit", {"pixels": [0.0] * 63}))
    assert status == 422 and "at least 64 items" in told["detail"][0]["msg"]
