"""A web service that reads handwritten digits, and joins requests that arrive together.

`POST /digit` with 64 pixels from 0 to 1 answers with a digit and its probability. `POST /reload` loads the file of
weights anew, while requests are answered: each answer is made of old weights or of new ones, never of both. Needs
`pip install 'wengert[serving]'`.
Source: FastAPI's documentation for the service; `wengert.serving` for the joining.
"""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

import wengert as wg
from wengert import saving
from wengert.data import batches, digits
from wengert.errors import OverloadedError
from wengert.nn import Linear, Sequential
from wengert.plugins import Adam, LearningRate
from wengert.serving import Batcher

Scores: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=3e-3)
model = Sequential(Linear.make(settings, 64, 64, seed=0), wg.relu, Linear.make(settings, 64, 10, seed=1))


class Image(BaseModel):
    """A digit of 8 by 8 pixels, row by row."""

    pixels: list[float] = Field(min_length=64, max_length=64)


class Answer(BaseModel):
    """What the network reads."""

    digit: int
    probability: float


def read(image: Image) -> wg.Do[Scores]:
    """The probabilities of ten digits; the network has learned pixels from -0.5 to 0.5."""
    return wg.softmax(model(np.array(image.pixels, np.float32) - np.float32(0.5))).predict()


def train(path: Path, epochs: int = 5) -> None:
    """Make the file of weights, if there is none."""
    if path.exists():
        saving.load(path, model)
        return
    for epoch in range(epochs):
        losses = [
            wg.cross_entropy(model(batch.images), batch.labels).train().run()
            for batch in batches(digits(), 32, seed=0, epoch=epoch)
        ]
        print(f"epoch {epoch + 1}: loss {np.mean(losses):.2f}", flush=True)
    saving.save(path, model)


def service(path: Path) -> FastAPI:
    """The application."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with Batcher(read, timeout=10.0) as batcher:
            app.state.batcher = batcher
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/digit")
    async def digit(image: Image) -> Answer:
        try:
            scores = await app.state.batcher(image)
        except OverloadedError as error:
            raise HTTPException(503, str(error)) from error
        return Answer(digit=int(scores.argmax()), probability=float(scores.max()))

    @app.post("/reload")
    async def reload() -> dict[str, str]:
        await asyncio.to_thread(saving.load, path, model)
        return {"weights": str(path)}

    @app.get("/served")
    async def served() -> dict[str, int]:
        counts: dict[str, int] = app.state.batcher.served._asdict()
        return counts

    return app


def main(arguments: list[str] | None = None) -> None:
    parser = ArgumentParser(description="Serve a network that reads digits.")
    parser.add_argument("--weights", type=Path, default=Path("service.safetensors"))
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args(arguments)
    train(options.weights)
    print(f"POST 64 pixels to http://127.0.0.1:{options.port}/digit; /docs shows how", flush=True)
    uvicorn.run(service(options.weights), port=options.port, log_level="warning")


if __name__ == "__main__":
    main()
