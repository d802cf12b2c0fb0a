"""A small GPT: the network of `examples/transformer.py` with the optimizer of minGPT.

Matrices of dense layers decay; biases, norms and tables do not; all derivatives have one norm.

Knows: two groups of weights in one network.
Refuses to know: dropout, whose masks no two libraries share.
"""

from __future__ import annotations

import pydoc_data.topics
from typing import Any, Final

import numpy as np

from benchmarks.ports.port import TORCH, Port, Value, example, tensors, torch
from benchmarks.workload import Step
from wengert import nn
from wengert.plugins import AdamW, ClipByGlobalNorm, LearningRate

BATCH, HEADS, RATE, DECAY, BETA, MOST, EPS = 16, 4, 5e-4, 0.1, 0.95, 1.0, 1e-5
EXAMPLE: Final = example("transformer")
Letters = np.ndarray[Any, np.dtype[np.int64]]


def text() -> tuple[Letters, int]:
    """The numbers of the letters of Python's manual, and how many letters there are."""
    manual = "\n".join(pydoc_data.topics.topics.values()).encode("ascii", "ignore")
    alphabet, letters = np.unique(np.frombuffer(manual, np.uint8), return_inverse=True)
    return letters, len(alphabet)


class Settings(ClipByGlobalNorm, AdamW, LearningRate):
    """AdamW with one norm for all derivatives."""


def network(size: int) -> Any:  # Any: a module of examples has no static type here
    settings = Settings(learning_rate=RATE, beta2=BETA, weight_decay=DECAY, max_norm=MOST)
    kept = Settings(learning_rate=RATE, beta2=BETA, weight_decay=0.0, max_norm=MOST)
    model = nn.with_settings(EXAMPLE.Transformer(size), "*.weight", settings)
    for place in ("*.bias", "*.scale", "*.offset", "*.table"):
        model = nn.with_settings(model, place, kept)
    return model


def ours() -> Step:
    letters, size = text()
    model, chance = network(size), np.random.default_rng(0)

    def step() -> float:
        batch = EXAMPLE.windows(letters, BATCH, chance)
        return float(model.loss(batch).train().run())

    return step


def theirs() -> Step:
    library, (letters, size) = torch(), text()
    f: Any = library.nn.functional
    weights, chance = tensors(network(size)), np.random.default_rng(0)
    decayed = [w for place, w in weights.items() if place.endswith("weight")]
    others = [w for place, w in weights.items() if not place.endswith("weight")]
    groups = [{"params": decayed, "weight_decay": DECAY}, {"params": others, "weight_decay": 0.0}]
    optimizer = library.optim.AdamW(groups, lr=RATE, betas=(0.9, BETA))

    def linear(place: str, x: Value) -> Value:
        return x @ weights[f"{place}.weight"] + weights[f"{place}.bias"]

    def norm(place: str, x: Value) -> Value:
        return f.layer_norm(x, x.shape[-1:], weights[f"{place}.scale"], weights[f"{place}.offset"], EPS)

    def attention(place: str, x: Value) -> Value:
        rows, time, width = x.shape
        query, key, value = (
            linear(f"{place}.{part}", x).reshape(rows, time, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        read = f.scaled_dot_product_attention(query, key, value, is_causal=True)
        return linear(f"{place}.output", read.transpose(1, 2).reshape(rows, time, width))

    def step() -> float:
        batch = library.from_numpy(EXAMPLE.windows(letters, BATCH, chance))
        x = f.embedding(batch[:, :-1], weights["letters.table"]) + weights["places.table"]
        for block in ("blocks.0", "blocks.1"):
            x = x + attention(f"{block}.attention", norm(f"{block}.attention_norm", x))
            x = x + linear(f"{block}.down", f.gelu(linear(f"{block}.up", norm(f"{block}.dense_norm", x))))
        scores = linear("top", norm("norm", x))
        loss = f.cross_entropy(scores.reshape(-1, size), batch[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        library.nn.utils.clip_grad_norm_([*decayed, *others], MOST)
        optimizer.step()
        return float(loss.detach())

    return step


PORT: Final = Port(
    "mingpt",
    "karpathy/minGPT",
    "2 blocks of width 64, 16 windows of 64 letters, AdamW, groups, clipped",
    TORCH,
    ours,
    theirs,
    (EXAMPLE.Settings, EXAMPLE.Block, EXAMPLE.Transformer, Settings, network, ours),
    example="transformer",
)
