"""Probes of PyTorch: operations, layers, losses and optimizers.

Knows: PyTorch, and packages that are made for it.
Refuses to know: Lightning, and what surrounds a step.
"""

from __future__ import annotations

import numpy as np
import peft
import safetensors.torch
import torch
import torchmetrics
import transformers
from torch import nn
from torch.nn import functional as F

from benchmarks.features.probes import Rows, near, standard_names

rows = Rows()
X = torch.tensor([[1.0, 2.0], [3.0, 5.0]])


def weight(*values: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(values))


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("Functions of the array API standard")
def array_api() -> None:
    assert standard_names(torch, torch.Tensor) == 111
    near(torch.hypot(torch.tensor(3.0), torch.tensor(4.0)), 5.0)


@rows.works("Linear algebra")
def linear_algebra() -> None:
    a = X.clone().requires_grad_()
    torch.linalg.det(a).backward()
    near(torch.linalg.solve(X, torch.tensor([5.0, 13.0])), [1.0, 2.0])
    near(a.grad, [[5.0, -3.0], [-2.0, 1.0]])


@rows.works("Fourier transforms")
def fourier() -> None:
    near(torch.fft.rfft(torch.tensor([1.0, 2.0, 3.0, 4.0])).real, [10.0, -2.0, -2.0])


@rows.works("Complex numbers as elements")
def complex_numbers() -> None:
    z = torch.tensor([1 + 2j], dtype=torch.complex64)
    near((z * z).numpy(), [-3 + 4j])


@rows.works("Convolutions in 1, 2 and 3 dimensions")
def convolutions() -> None:
    near(torch.nn.functional.conv1d(torch.ones(1, 2, 4), torch.ones(2, 1, 3), groups=2).sum(), 12.0)
    near(torch.nn.functional.conv2d(torch.ones(1, 1, 5, 5), torch.ones(1, 1, 3, 3), dilation=2), [[[[9.0]]]])
    near(torch.nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).sum(), 8.0)
    near(torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2)).sum(), 4.0)


@rows.works("Scatter, segments, sparse products")
def scatter() -> None:
    i = torch.tensor([0, 1, 0])
    near(torch.scatter_add(torch.zeros(2), 0, i, torch.tensor([1.0, 2.0, 4.0])), [5.0, 2.0])
    sparse = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
    near(torch.sparse.mm(sparse, X), [[6.0, 10.0], [3.0, 6.0]])


@rows.lacks("A loop as one node", "Python's loop, with a node for each operation")
def loop() -> None:
    h, w = torch.tensor(1.0), weight(2.0)
    for _ in range(3):
        h = h * w.sum()
    node, nodes = h.grad_fn, 0
    while node and "Mul" in node.name():
        node, nodes = node.next_functions[0][0], nodes + 1
    assert nodes == 3


@rows.works("Higher derivatives")
def higher() -> None:
    x = weight(2.0)
    (first,) = torch.autograd.grad((x**4).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    near(torch.stack([first, second, third]).detach(), [[32.0], [48.0], [48.0]])


@rows.works("Jacobians, products with them and with Hessians")
def jacobians() -> None:
    x = torch.tensor([1.0, 2.0])
    near(torch.func.jvp(torch.square, (x,), (torch.ones(2),))[1], [2.0, 4.0])
    near(torch.func.jacrev(torch.square)(x), [[2.0, 0.0], [0.0, 4.0]])
    near(torch.func.hessian(lambda x: (x**3).sum())(x), [[6.0, 0.0], [0.0, 12.0]])


@rows.works("Derivatives by data")
def by_data() -> None:
    x = torch.tensor([1.0, 2.0]).requires_grad_()
    (x * x).sum().backward()
    near(x.grad, [2.0, 4.0])


@rows.works("A function of one example, for a batch")
def vmap() -> None:
    near(torch.func.vmap(torch.dot)(X, X), [5.0, 34.0])


class Cube(torch.autograd.Function):
    """A cube with a derivative of its own."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, delta: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 3 * x**2 * delta


@rows.works("An operation of your own")
def own_operation() -> None:
    assert issubclass(Cube, torch.autograd.Function)
    x = weight(2.0)
    Cube.apply(x).sum().backward()
    near(x.grad, [12.0])
    twice = torch.library.custom_op("probes::twice", _twice, mutates_args=())
    near(twice(torch.ones(2)), [2.0, 2.0])


def _twice(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


class Metres(torch.Tensor):
    """A type of a user's own."""


@rows.works("A type of your own that is differentiated")
def own_type() -> None:  # subclasses of Tensor
    x = torch.tensor([3.0]).as_subclass(Metres).requires_grad_()
    (x * x).sum().backward()
    assert isinstance(x, torch.Tensor) and type(x * x) is Metres
    near(x.grad, [6.0])


# -- layers and models --------------------------------------------------------------------------------


@rows.works("Dense, convolution, embedding, dropout, pooling")
def layers() -> None:
    net = torch.nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(), nn.Linear(8, 3)
    )
    assert net(torch.ones(5, 1, 6, 6)).shape == (5, 3)
    assert nn.Embedding(7, 4)(torch.tensor([1, 6])).shape == (2, 4)
    assert nn.EmbeddingBag(7, 4)(torch.tensor([[1, 6]])).shape == (1, 4)
    assert nn.Bilinear(2, 2, 3)(X, X).shape == (2, 3)


@rows.works("Normalizations")
def normalizations() -> None:
    image = torch.randn(4, 6, 3, 3)
    for norm in (torch.nn.BatchNorm2d(6), nn.GroupNorm(2, 6), nn.InstanceNorm2d(6), nn.LayerNorm([6, 3, 3])):
        assert abs(norm(image).mean().item()) < 1e-5
    near(nn.RMSNorm(2)(torch.tensor([3.0, 3.0])).detach(), [1.0, 1.0])


@rows.works("Recurrent stacks: layers, both directions, lengths")
def recurrent() -> None:
    lstm = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(5, 2, 3), torch.tensor([5, 2]))
    out, lengths = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
    assert out.shape == (5, 2, 8) and lengths.tolist() == [5, 2] and not out[2:, 1].any()


@rows.works("Attention and transformers")
def attention() -> None:
    q = torch.randn(1, 2, 3, 4)
    causal = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    near(causal[:, :, 0], q[:, :, 0])
    whole = torch.nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
    assert whole(torch.ones(1, 3, 8), torch.ones(1, 2, 8)).shape == (1, 2, 8)


@rows.works("Keys and values kept while writing")
def key_values() -> None:
    sizes = {"vocab_size": 9, "n_positions": 8, "n_embd": 8, "n_layer": 1, "n_head": 2}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    model = transformers.GPT2LMHeadModel(config).eval()
    words = torch.tensor([[1, 2, 3]])
    first = model(words[:, :2], use_cache=True)
    last = model(words[:, 2:], cache=first.past_key_values)
    near(last.logits[0, 0].detach(), model(words).logits[0, 2].detach())


@rows.works("Initializers")
def initializers() -> None:
    w = torch.nn.init.orthogonal_(torch.empty(3, 3))
    near(w @ w.T, np.eye(3))


@rows.works("Freezing, tying, exchanging parts, LoRA")
def surgery() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[0].requires_grad_(False)
    net[1].weight = net[0].weight
    assert len(list(net.parameters())) == 3
    net[1] = nn.Identity()
    adapted = peft.get_peft_model(net, peft.LoraConfig(r=1, target_modules=["0"]))
    learnt = [name for name, p in adapted.named_parameters() if p.requires_grad]
    assert len(learnt) == 2 and all("lora" in name for name in learnt)


@rows.works("State that is not learnt")
def state() -> None:
    net = nn.Module()
    net.register_buffer("seen", torch.zeros(1))
    assert not list(net.parameters()) and list(net.state_dict()) == ["seen"]


rows.not_run(
    "Trained models to download",
    "the network could not be reached; the wheels of torchvision are made for PyTorch with CUDA",
)


# -- losses and optimizers ----------------------------------------------------------------------------


@rows.works("Losses")
def losses() -> None:
    log_p = torch.log_softmax(torch.zeros(3, 1, 2), -1)
    one = torch.tensor([1])
    near(torch.nn.functional.cross_entropy(torch.zeros(1, 2), one, label_smoothing=0.1), np.log(2))
    near(F.binary_cross_entropy_with_logits(torch.zeros(1), torch.ones(1)), np.log(2))
    near(F.huber_loss(torch.tensor([3.0]), torch.zeros(1)), 2.5)
    near(F.ctc_loss(log_p, one[None], torch.tensor([3]), one), -np.log(6 / 8))


@rows.works("Optimizers")
def optimizers() -> None:
    names = ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "RMSprop", "NAdam", "RAdam", "Adafactor", "Muon")
    assert all(hasattr(torch.optim, name) for name in names)
    w = weight(1.0)
    optimizer = torch.optim.AdamW([w], lr=0.1, weight_decay=0.0)
    (w * 3).sum().backward()
    optimizer.step()
    near(w.detach(), [0.9])


@rows.works("L-BFGS")
def lbfgs() -> None:
    w = weight(5.0)
    optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = ((w - 2) ** 2).sum()
        value.backward()
        return value

    optimizer.step(loss)
    near(w.detach(), [2.0])


@rows.works("Schedules of the rate")
def schedules() -> None:
    optimizer = torch.optim.SGD([weight(1.0)], lr=1.0)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2)
    optimizer.step()
    schedule.step()
    near(schedule.get_last_lr(), [0.5])
    assert hasattr(torch.optim.lr_scheduler, "ReduceLROnPlateau")


@rows.works("Clipping")
def clipping() -> None:  # gradient_clip_val= is a probe of the loop
    w = weight(3.0, 4.0)
    (w * w).sum().backward()
    near(nn.utils.clip_grad_norm_([w], 1.0), 10.0)
    near(w.grad, [0.6, 0.8])


@rows.works("Groups of weights")
def groups() -> None:
    a, b = weight(1.0), weight(1.0)
    optimizer = torch.optim.SGD([{"params": [a], "lr": 0.1}, {"params": [b], "lr": 0.5}])
    (a + b).sum().backward()
    optimizer.step()
    near(torch.cat([a, b]).detach(), [0.9, 0.5])
    optimizer.param_groups[0]["lr"] = 0.2


@rows.works("Averages of weights")
def averages() -> None:
    net = nn.Linear(1, 1, bias=False)
    mean = torch.optim.swa_utils.AveragedModel(net)
    for value in (1.0, 3.0):
        nn.init.constant_(net.weight, value)
        mean.update_parameters(net)
    near(mean.module.weight.detach(), [[2.0]])


@rows.works("Metrics that are merged over batches")
def metrics() -> None:  # of TorchMetrics
    accuracy = torchmetrics.Accuracy("binary")
    accuracy.update(torch.tensor([1, 0, 1]), torch.tensor([1, 0, 0]))
    accuracy.update(torch.tensor([1]), torch.tensor([1]))
    near(accuracy.compute(), 0.75)


@rows.works("Weights from PyTorch")
def weights() -> None:  # its own
    source = nn.Linear(2, 2)
    there = safetensors.torch.load(safetensors.torch.save(source.state_dict()))
    target = nn.Linear(2, 2)
    target.load_state_dict(there)
    near(target.weight.detach(), source.weight.detach())


@rows.works("Arrays exchanged without a copy")
def exchange() -> None:  # DLPack
    x = np.zeros(2, np.float32)
    torch.from_dlpack(x)[0] = 3.0
    near(x, [3.0, 0.0])
