"""Probes of tinygrad, on its device `CPU`, which compiles by clang.

Knows: tinygrad.
Refuses to know: other devices.
"""

from __future__ import annotations

import inspect
import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import tinygrad
import torch
from tinygrad import Device, Tensor, TinyJit, dtypes, nn
from tinygrad.helpers import Context

from benchmarks.features.probes import Rows, lacks_names, near, refuses, standard_names

rows = Rows()
X = np.asarray([[1.0, 2.0], [3.0, 5.0]], np.float32)


def numbers(x: Tensor) -> np.ndarray:
    return x.numpy()


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("Functions of the array API standard")
def array_api() -> None:
    assert standard_names(Tensor) == 75
    near(Tensor([1.0, 2.0]).exp().tolist(), np.exp([1.0, 2.0]))


@rows.works("Linear algebra")
def linear_algebra() -> None:
    q, r = Tensor.qr(Tensor(X))
    near(numbers(q @ r), X)
    u, s, v = Tensor.svd(Tensor(X))
    near(numbers(u @ s.diag() @ v), X, 1e-3)
    lacks_names(Tensor, "solve", "inv", "det", "cholesky", "eigh")


@rows.lacks("Fourier transforms", "no function, and no complex numbers")
def fourier() -> None:
    lacks_names(Tensor, "fft", "rfft", "ifft")


@rows.lacks("Complex numbers as elements", "no such type; two numbers by hand")
def complex_numbers() -> None:
    lacks_names(dtypes, "complex64", "complex128")


@rows.works("Convolutions in 1, 2 and 3 dimensions")
def convolutions() -> None:  # of any rank
    for rank in (1, 2, 3):
        x, w = Tensor.ones(1, 1, *[5] * rank), Tensor.ones(1, 1, *[3] * rank)
        near(numbers(Tensor.conv2d(x, w, dilation=2)).ravel(), [3.0**rank])


@rows.works("Scatter, segments, sparse products")
def scatter() -> None:
    x, i = Tensor([1.0, 2.0, 4.0]), Tensor([0, 1, 0])
    near(numbers(Tensor.zeros(2).scatter_reduce(0, i, x, "sum")), [5.0, 2.0])


@rows.lacks("A loop as one node", "Python's loop, with a node for each operation")
def loop() -> None:
    w = h = Tensor([2.0])
    for _ in range(2):
        h = h * w
    assert len([node for node in h.uop.toposort() if node.op.name == "MUL"]) == 2
    near(numbers(h.sum().gradient(w)[0]), [12.0])
    lacks_names(Tensor, "scan")


@rows.works("Higher derivatives")
def higher() -> None:
    x = Tensor([2.0])
    y = x * x * x * x
    for expected in (32.0, 48.0, 48.0):
        (y,) = y.sum().gradient(x)
        near(numbers(y), [expected])


@rows.lacks("Jacobians, products with them and with Hessians", "derivatives of one number alone")
def jacobians() -> None:
    lacks_names(Tensor, "jvp", "jacobian", "hessian", "jacrev")
    lacks_names(tinygrad, "jvp", "jacrev", "hessian")
    x = Tensor([1.0, 2.0])
    with refuses(AssertionError, RuntimeError):
        (x * x).gradient(x)


@rows.works("Derivatives by data")
def by_data() -> None:
    x = Tensor([1.0, 2.0])
    near(numbers(Tensor.gradient((x * x).sum(), x)[0]), [2.0, 4.0])


@rows.lacks("A function of one example, for a batch", "no such transformation of a function")
def vmap() -> None:
    lacks_names(tinygrad, "vmap")
    lacks_names(Tensor, "vmap")


@rows.works("An operation of your own")
def own_operation() -> None:  # Tensor.custom_kernel
    def twice(out: tinygrad.UOp, x: tinygrad.UOp) -> tinygrad.UOp:
        i = tinygrad.UOp.range(2, 0)
        return out[i].store(x[i] * 2).end(i).sink(arg=nn.KernelInfo(name="twice"))

    out = Tensor.custom_kernel(Tensor.empty(2), Tensor([1.0, 3.0]), fxn=twice)[0]
    near(numbers(out), [2.0, 6.0])


@rows.lacks("A type of your own that is differentiated", "derivatives are by tensors")
def own_type() -> None:
    class Metres:
        def __init__(self) -> None:
            self.x = Tensor([3.0])

    metres = Metres()
    with refuses(AttributeError, TypeError, RuntimeError, AssertionError):
        (metres.x * metres.x).sum().gradient(metres)


# -- layers and models --------------------------------------------------------------------------------


@rows.works("Dense, convolution, embedding, dropout, pooling")
def layers() -> None:
    hidden = nn.Conv2d(1, 2, 3)(Tensor.ones(5, 1, 6, 6)).max_pool2d().flatten(1).dropout(0.5)
    assert nn.Linear(8, 3)(hidden).shape == (5, 3)
    assert nn.Embedding(7, 4)(Tensor([1, 6])).shape == (2, 4)


@rows.works("Normalizations")
def normalizations() -> None:
    image = Tensor(np.random.default_rng(0).normal(size=(2, 4, 2, 2)).astype(np.float32))
    with Context(TRAINING=1):
        near(numbers(nn.BatchNorm(4)(image).mean()), 0.0)
    for norm in (nn.GroupNorm(2, 4), nn.InstanceNorm(4), nn.LayerNorm((4, 2, 2))):
        near(numbers(norm(image).mean()), 0.0)
    near(numbers(nn.RMSNorm(2)(Tensor([3.0, 3.0]))), [1.0, 1.0])


@rows.by_hand("Recurrent stacks: layers, both directions, lengths")
def recurrent() -> None:
    x, length = Tensor.ones(5, 1, 3), 2
    for size in (3, 8):
        sides = []
        for order in (range(length), range(length - 1, -1, -1)):
            cell, state, out = nn.LSTMCell(size, 4), None, {}
            for t in order:
                state = cell(x[t], state)
                out[t] = state[0]
            sides.append(Tensor.stack(*[out.get(t, Tensor.zeros(1, 4)) for t in range(5)]))
        x = sides[0].cat(sides[1], dim=-1)
    assert x.shape == (5, 1, 8) and not numbers(x[2:]).any() and numbers(x[:2]).all()
    lacks_names(nn, "LSTM", "RNN", "GRU")


@rows.works("Attention and transformers")
def attention() -> None:
    q = Tensor(np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32))
    causal = Tensor.scaled_dot_product_attention(q, q, q, is_causal=True)
    near(numbers(causal[:, :, 0]), numbers(q[:, :, 0]))
    lacks_names(nn, "MultiHeadAttention", "Transformer")


@rows.by_hand("Keys and values kept while writing")
def key_values() -> None:
    x = Tensor(np.random.default_rng(0).normal(size=(1, 1, 3, 4)).astype(np.float32))
    whole = x.scaled_dot_product_attention(x, x, is_causal=True)
    kept, out = None, []
    for i in range(3):
        new = x[:, :, i : i + 1]
        kept = new if kept is None else kept.cat(new, dim=2)
        out.append(new.scaled_dot_product_attention(kept, kept))
    near(numbers(out[0].cat(*out[1:], dim=2)), numbers(whole))


@rows.works("Initializers")
def initializers() -> None:
    assert abs(numbers(Tensor.kaiming_uniform(3, 6))).max() <= 1.0
    assert abs(numbers(Tensor.glorot_uniform(3, 3))).max() <= 1.0


@rows.works("Freezing, tying, exchanging parts, LoRA")
def surgery() -> None:  # by attributes, and by which weights an optimizer gets; LoRA by hand
    class Net:
        def __init__(self) -> None:
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)

    net = Net()
    net.b.weight = net.a.weight
    before = numbers(net.a.weight)
    with Context(TRAINING=1):
        net.b(net.a(Tensor(X))).sum().backward()
        nn.optim.SGD([net.b.bias], lr=1.0).step()
    near(numbers(net.a.weight), before)
    net.b = nn.Linear(2, 5)
    assert net.b(Tensor(X)).shape == (2, 5)
    lacks_names(nn, "LoRA")


@rows.works("State that is not learnt")
def state() -> None:  # by attributes, such as those of BatchNorm
    norm = nn.BatchNorm(2)
    with Context(TRAINING=1):
        norm(Tensor(X)).realize()
    near(numbers(norm.running_mean), [0.2, 0.35])


@rows.by_hand("A table of a model")
def table() -> None:
    weights = nn.state.get_state_dict(nn.Linear(2, 3))
    said = "\n".join(f"{name:20} {w.shape} {w.numel()}" for name, w in weights.items())
    assert "(3,) 3" in said
    lacks_names(nn.state, "summary", "tabulate")


rows.absent(
    "Trained models to download", "its repository's examples load some, and its package has none of them"
)


# -- losses and optimizers ----------------------------------------------------------------------------


@rows.works("Losses")
def losses() -> None:
    near(numbers(Tensor.zeros(1, 2).sparse_categorical_crossentropy(Tensor([1]))), np.log(2))
    near(numbers(Tensor.zeros(1).binary_crossentropy_logits(Tensor([1.0]))), np.log(2))
    lacks_names(Tensor, "ctc_loss", "huber_loss", "triplet_margin_loss")


@rows.works("Optimizers")
def optimizers() -> None:
    assert all(hasattr(nn.optim, name) for name in ("SGD", "AdamW", "LAMB", "LARS", "Muon"))
    w = Tensor([1.0])
    with Context(TRAINING=1):
        optimizer = nn.optim.Adam([w], lr=0.1)
        (w * 3).sum().backward()
        optimizer.step()
    near(numbers(w), [0.9])


@rows.lacks("L-BFGS", "no optimizer that asks for a loss again")
def lbfgs() -> None:
    lacks_names(nn.optim, "LBFGS")


@rows.by_hand("Schedules of the rate")
def schedules() -> None:
    optimizer = nn.optim.SGD([Tensor([1.0])], lr=1.0)
    for step in range(1, 3):
        optimizer.lr.assign(Tensor([0.5 * (1 + np.cos(np.pi * step / 2))], dtype=dtypes.float32)).realize()
    near(numbers(optimizer.lr), [0.0])
    lacks_names(nn.optim, "lr_scheduler", "CosineAnnealingLR")


@rows.by_hand("Clipping")
def clipping() -> None:
    w = Tensor([3.0, 4.0])
    (delta,) = (w * w).sum().gradient(w)
    delta = delta / delta.square().sum().sqrt().maximum(1.0)
    near(numbers(delta), [0.6, 0.8])
    lacks_names(nn.optim, "clip_grad_norm_")


@rows.works("Groups of weights")
def groups() -> None:  # several optimizers in an OptimizerGroup
    a, b = Tensor([1.0]), Tensor([1.0])
    with Context(TRAINING=1):
        both = nn.optim.OptimizerGroup(nn.optim.SGD([a], lr=0.1), nn.optim.SGD([b], lr=0.5))
        (a + b).sum().backward()
        both.step()
    near(numbers(a.cat(b)), [0.9, 0.5])


@rows.by_hand("Averages of weights")
def averages() -> None:
    w, mean = Tensor([1.0]), Tensor([3.0])
    mean.assign(0.5 * mean + 0.5 * w).realize()
    near(numbers(mean), [2.0])
    lacks_names(nn.optim, "EMA", "SWA", "AveragedModel")


@rows.by_hand("Metrics that are merged over batches")
def metrics() -> None:
    right, seen = 0, 0
    for said, true in (([1, 0, 1], [1, 0, 0]), ([1], [1])):
        right, seen = right + (Tensor(said) == Tensor(true)).sum().item(), seen + len(true)
    near(right / seen, 0.75)
    lacks_names(nn, "metrics")


# -- data and the loop --------------------------------------------------------------------------------


@rows.by_hand("Sets of examples, batches, splits by a seed")
def batches() -> None:
    Tensor.manual_seed(1)
    order = Tensor.randperm(8).numpy()
    train, test = order[:6], order[6:]
    parts = [train[i : i + 4] for i in range(0, 6, 4)]
    assert sorted([*train, *test]) == list(range(8)) and [len(part) for part in parts] == [4, 2]
    lacks_names(nn, "Dataset", "DataLoader")
    assert callable(nn.datasets.mnist)  # downloads


@rows.by_hand("Batches made by worker processes")
def workers() -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        made = list(pool.imap(np.square, [np.arange(4), np.arange(4, 8)]))
    near(numbers(Tensor(np.concatenate(made))), np.arange(8) ** 2)


@rows.by_hand("Samplers, lengths, padding")
def samplers() -> None:
    drawn = Tensor([0.0, 1.0]).multinomial(9, replacement=True)
    padded = Tensor.stack(*[Tensor(x).pad((0, 3 - len(x))) for x in ([1.0, 1.0, 1.0], [1.0])])
    near(numbers(drawn), [1] * 9)
    near(numbers(padded), [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])


@rows.by_hand("Tables, CSV, frames")
def tables() -> None:
    lines = ["a,b,y", "1,2,3", "4,5,9"]
    read = Tensor(np.loadtxt(lines, np.float32, delimiter=",", skiprows=1))
    x, y = read[:, :2], read[:, 2]
    near(numbers(x)[1], [4.0, 5.0])
    near(numbers(y), [3.0, 9.0])


@rows.by_hand("Images: files, changes by chance")
def images() -> None:
    batch = Tensor.arange(32).reshape(2, 4, 4)
    flipped = (Tensor.rand(2, 1, 1) < 0.5).where(batch.flip(2), batch)
    cropped = flipped[:, 1:, :3]
    assert numbers(cropped).shape == (2, 3, 3)
    lacks_names(Tensor, "random_crop", "random_flip")


@rows.by_hand("Tokenizers")
def tokens() -> None:
    words = {"?": 0, "a": 1, "tree": 2}
    near(numbers(Tensor([words.get(word, 0) for word in ["a", "tree", "of"]])), [1, 2, 0])


@rows.by_hand("The loop")
def whole_loop() -> None:
    w = Tensor([0.0])
    with Context(TRAINING=1):
        optimizer = nn.optim.SGD([w], lr=0.25)
        for _ in range(12):
            optimizer.zero_grad()
            (w - 2).square().sum().backward()
            optimizer.step()
    near(numbers(w), [2.0], 1e-2)
    lacks_names(tinygrad, "fit", "Trainer")


@rows.by_hand("Early stop, the best weights")
def early_stop() -> None:
    best, best_loss, waited, epoch = Tensor([0.0]), float("inf"), 0, 0
    for epoch, loss in enumerate([3.0, 1.0, 2.0, 2.5, 9.0]):
        if loss < best_loss:
            best, best_loss, waited = Tensor([float(epoch)]), loss, 0
        else:
            waited += 1
        if waited == 2:
            break
    assert epoch == 3
    near(numbers(best), [1.0])


@rows.by_hand("Killed and resumed with the same bits")
def resumed() -> None:
    def steps(n: int, w: Tensor, moment: Tensor) -> dict[str, Tensor]:
        for _ in range(n):
            moment = (0.9 * moment + 2 * (w - 2)).realize()
            w = (w - 0.1 * moment).realize()
        return {"w": w, "moment": moment}

    start = Tensor([0.0]), Tensor([0.0])
    with tempfile.TemporaryDirectory() as folder:
        nn.state.safe_save(steps(2, *start), f"{folder}/half")
        half = {name: x.to(Device.DEFAULT) for name, x in nn.state.safe_load(f"{folder}/half").items()}
        resumed = numbers(steps(2, half["w"], half["moment"])["w"])
    assert np.array_equal(resumed, numbers(steps(4, *start)["w"]))


@rows.by_hand("Several batches a step")
def accumulated() -> None:  # several backward()
    w = Tensor([0.0])
    with Context(TRAINING=1):
        optimizer = nn.optim.SGD([w], lr=1.0)
        for factor in (1.0, 3.0):
            (factor * w / 2).sum().backward()
        optimizer.step()
    near(numbers(w), [-2.0])


@rows.by_hand("Curves and logs")
def logs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Path(folder, "log.csv").open("w", encoding="utf-8") as file:
            for step, loss in enumerate([Tensor(2.0), Tensor(1.0)]):
                file.write(f"{step},{loss.item()}\n")
        assert Path(folder, "log.csv").read_text(encoding="utf-8").endswith("1,1.0\n")


@rows.lacks("A step that fails changes nothing", "weights that were assigned before the error stay so")
def transaction() -> None:
    a, b = Tensor([1.0, 1.0]), Tensor([1.0, 1.0])
    with refuses(IndexError):
        for w, delta in ((a, Tensor([1.0, 1.0])), (b, Tensor([1.0, 1.0, 1.0]))):
            w.assign(w - delta).realize()
    near(numbers(a), [0.0, 0.0])


@rows.lacks("Where a NaN began", "nothing looks at values")
def not_a_number() -> None:
    assert np.isnan(numbers(Tensor([-1.0]).log())).all()
    lacks_names(tinygrad, "detect_anomaly", "debug_nans")


# -- how it runs --------------------------------------------------------------------------------------


@rows.works("Compilation")
def compiled() -> None:
    double = TinyJit(lambda x: (x.sin() * 2).realize())
    for value in (1.0, 2.0, 3.0, 4.0):
        near(numbers(double(Tensor([value]).realize())), [2 * np.sin(value)])


@rows.works("Networks that depend on computed values")
def dynamic() -> None:  # Python's if outside of TinyJit
    x = Tensor([3.0])
    y = x * x if x.item() > 0 else -x
    near(numbers(y.sum().gradient(x)[0]), [6.0])


rows.absent(
    "Dynamic batching: trees of any shape in one batch",
    "the user's code puts nodes together",
)


@rows.lacks(
    "Less memory by computing again", "nothing chooses what is kept; `contiguous_backward` only cuts kernels"
)
def recomputed() -> None:
    lacks_names(tinygrad, "checkpoint", "remat")
    lacks_names(Tensor, "checkpoint", "remat")


@rows.works("Mixed precision")
def mixed() -> None:  # by dtype
    net = nn.Linear(2, 2)
    net.weight, net.bias = net.weight.cast(dtypes.bfloat16), net.bias.cast(dtypes.bfloat16)
    assert net(Tensor(X).cast(dtypes.bfloat16)).dtype == dtypes.bfloat16


rows.not_run("GPU", "no device here; CUDA, AMD, Metal and OpenCL are of its documentation")


@rows.lacks("TPU", "no such device among its own")
def tpu() -> None:
    with refuses(Exception):
        Device["TPU"]


@rows.works("One step by many processes")
def processes() -> None:  # many devices of one process
    devices = ("CPU:0", "CPU:1")
    x, w = Tensor(X).shard(devices, axis=0), Tensor.ones(2, 1).shard(devices)
    (delta,) = Tensor.gradient((x @ w).square().mean(), w)
    near(numbers(delta).ravel(), [27.0, 46.0])


@rows.works("Parts of a model elsewhere")
def parts() -> None:
    devices = ("CPU:0", "CPU:1")
    w = Tensor.ones(2, 4).contiguous().shard(devices, axis=1)
    near(numbers(Tensor(X).shard(devices) @ w)[0], [3.0] * 4)


rows.absent(
    "Requests that are answered together",
    "nothing waits for requests; a server is an example",
)

rows.absent(
    "Export to other runtimes", "its repository's example writes programs of a model; the package does not"
)


@rows.works("Weights from PyTorch")
def weights() -> None:
    with tempfile.TemporaryDirectory() as folder:
        nn.state.safe_save(nn.state.get_state_dict(nn.Linear(2, 2)), f"{folder}/w.safetensors")
        target = nn.Linear(2, 2)
        with redirect_stdout(io.StringIO()):
            nn.state.load_state_dict(target, nn.state.safe_load(f"{folder}/w.safetensors"), verbose=False)
        near(numbers(target.weight), numbers(nn.state.safe_load(f"{folder}/w.safetensors")["weight"]))
        torch.save({"w": torch.ones(2)}, f"{folder}/w.pt")
        near(numbers(nn.state.torch_load(f"{folder}/w.pt")["w"].to("CPU")), [1.0, 1.0])


@rows.by_hand("Arrays exchanged without a copy")
def exchange() -> None:  # Tensor.from_blob, of an address
    x = np.asarray([1.0, 2.0], np.float32)
    shared = Tensor.from_blob(x.ctypes.data, (2,), dtype=dtypes.float32, device="CPU")
    shared.assign(shared * 3).realize()
    near(x, [3.0, 6.0])
    lacks_names(Tensor, "__dlpack__", "from_dlpack")


@rows.lacks("asyncio", "tensors are not awaitable")
def awaited() -> None:
    assert not inspect.isawaitable(Tensor([1.0])) and not inspect.isawaitable(nn.Linear(1, 1))


# -- checking and looking -----------------------------------------------------------------------------


@rows.lacks("Shapes, before the program runs", "a checker sees `Tensor`; shapes are refused when it runs")
def shapes() -> None:
    with refuses(RuntimeError, AssertionError, ValueError):
        Tensor.ones(2, 3) @ Tensor.ones(2, 3)


@rows.lacks(
    "Element types and devices, before the program runs", "a checker sees `Tensor`, whatever it holds"
)
def element_types() -> None:
    assert not hasattr(Tensor, "__parameters__")


@rows.works("Shapes of a whole model without data")
def whole_shapes() -> None:  # shapes are known before computing
    assert nn.Linear(1 << 20, 1 << 20)(Tensor.empty(7, 1 << 20)).shape == (7, 1 << 20)


@rows.lacks("Derivatives against differences", "its tests have them for themselves")
def differences() -> None:
    lacks_names(tinygrad, "gradcheck", "testing")


rows.absent("Tests of types", "it has no types to test")


@rows.works("Where the time goes")
def profiled() -> None:
    said = io.StringIO()
    with Context(DEBUG=2), redirect_stdout(said):
        (Tensor([1.0, 2.0]) + Tensor([1.0, 5.0])).realize()
    assert "CPU" in said.getvalue()


rows.not_run("A picture of the graph", "`VIZ=1` serves a page for a browser")


@rows.works("What is installed, and what of it is wrong")
def installed() -> None:  # which devices there are, and why others are not
    said = subprocess.run(
        [sys.executable, "-m", "tinygrad.device"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert "CPU" in said.stdout
