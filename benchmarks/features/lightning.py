"""Probes of PyTorch with Lightning: data, the loop, how it runs, and what looks at it.

Knows: PyTorch, Lightning, and packages that are made for them.
Refuses to know: operations, layers, losses and optimizers.
"""

from __future__ import annotations

import inspect
import logging
import tempfile
import warnings
from pathlib import Path
from typing import Any

import lightning
import numpy as np
import tokenizers
import torch
import torchinfo
import torchviz
from lightning.pytorch import callbacks, loggers
from torch import nn
from torch.utils import data

from benchmarks.features import ranks
from benchmarks.features.probes import Rows, near, refuses

rows = Rows()
Batch = list[torch.Tensor]
X = torch.arange(8.0).reshape(8, 1)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore", module="lightning")


def pairs() -> data.TensorDataset:
    return data.TensorDataset(X, 2 * X)


class Doubles(lightning.LightningModule):
    """y = 2 x, learnt."""

    def __init__(self, rate: float = 0.01) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.net, self.rate = nn.Linear(1, 1), rate
        self.steps, self.losses = 0, list[float]()

    def training_step(self, batch: Batch, _: int) -> torch.Tensor:
        loss = ((self.net(batch[0]) - batch[1]) ** 2).mean()
        self.log("loss", loss)
        self.losses.append(loss.item())
        return loss

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=self.rate)

    def optimizer_step(self, *given: Any, **named: Any) -> None:  # its signature is the trainer's
        super().optimizer_step(*given, **named)
        self.steps += 1


def trained(
    model: Doubles, *, ckpt_path: str | None = None, shuffle: bool = False, **options: Any
) -> lightning.Trainer:
    """A fit with options of `Trainer`, which are of many types."""
    quiet: dict[str, object] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    quiet |= {"enable_checkpointing": False, "accelerator": "cpu", "max_epochs": 3}
    trainer = lightning.Trainer(**{**quiet, **options})
    trainer.fit(model, data.DataLoader(pairs(), batch_size=4, shuffle=shuffle), ckpt_path=ckpt_path)
    return trainer


# -- data ---------------------------------------------------------------------------------------------


@rows.works("Sets of examples, batches, splits by a seed")
def batches() -> None:  # a Dataset
    halves = [data.random_split(pairs(), [4, 4], torch.Generator().manual_seed(1)) for _ in range(2)]
    assert halves[0][0].indices == halves[1][0].indices
    assert [len(x) for x, _ in data.DataLoader(pairs(), batch_size=3)] == [3, 3, 2]


@rows.works("Batches made by worker processes")
def workers() -> None:
    loader = data.DataLoader(pairs(), batch_size=4, num_workers=2)
    near(torch.cat([x for x, _ in loader]), X)


@rows.works("Samplers, lengths, padding")
def samplers() -> None:
    drawn = list(data.WeightedRandomSampler([0.0, 1.0], 9))
    assert drawn == [1] * 9
    padded = nn.utils.rnn.pad_sequence([torch.ones(3), torch.ones(1)], batch_first=True)
    near(padded, [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])


@rows.by_hand("Tables, CSV, frames")
def tables() -> None:
    lines = ["a,b,y", "1,2,3", "4,5,9"]
    numbers = torch.from_numpy(np.loadtxt(lines, np.float32, delimiter=",", skiprows=1))
    table = data.TensorDataset(numbers[:, :2], numbers[:, 2])
    near(table[1][0], [4.0, 5.0])


rows.not_run(
    "Images: files, changes by chance",
    "torchvision has them; its wheels are made for PyTorch with CUDA, and do not load beside that for processors",
)


@rows.works("Tokenizers")
def tokens() -> None:  # of Hugging Face
    words = tokenizers.models.WordLevel({"?": 0, "a": 1, "tree": 2}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    assert tokenizer.encode("a tree of").ids == [1, 2, 0]


# -- the loop -----------------------------------------------------------------------------------------


@rows.works("The loop")
def loop() -> None:  # Trainer.fit
    model = Doubles()
    trained(model, max_epochs=40, gradient_clip_val=50.0)
    near(model.net(torch.tensor([3.0])).item(), 6.0, 0.2)


@rows.works("Early stop, the best weights")
def early_stop() -> None:
    with tempfile.TemporaryDirectory() as folder:
        best = callbacks.ModelCheckpoint(folder, monitor="loss")
        stop = callbacks.EarlyStopping("loss", patience=1, min_delta=1e9)
        trainer = trained(Doubles(), max_epochs=9, callbacks=[stop, best], enable_checkpointing=True)
        assert trainer.current_epoch == 2 and Path(best.best_model_path).is_file()


@rows.works("Killed and resumed with the same bits")
def resumed() -> None:  # only where batches are not shuffled
    agree = []
    for shuffle in (False, True):
        whole, first, second = Doubles(), Doubles(), Doubles()
        with tempfile.TemporaryDirectory() as folder:
            lightning.seed_everything(1, verbose=False)
            trained(whole, max_epochs=4, shuffle=shuffle)
            lightning.seed_everything(1, verbose=False)
            trained(first, max_epochs=2, shuffle=shuffle).save_checkpoint(f"{folder}/half")
            lightning.seed_everything(1, verbose=False)
            trained(second, max_epochs=4, shuffle=shuffle, ckpt_path=f"{folder}/half")
        assert len(second.losses) == 4
        agree.append(first.losses + second.losses == whole.losses)
    assert agree == [True, False]


@rows.works("Several batches a step")
def accumulated() -> None:
    model = Doubles()
    trained(model, accumulate_grad_batches=2)
    assert len(model.losses) == 6 and model.net.weight.grad is not None
    assert trained(Doubles(), accumulate_grad_batches=2).global_step == 3


@rows.works("Curves and logs")
def logs() -> None:  # loggers of Lightning
    with tempfile.TemporaryDirectory() as folder:
        logger = loggers.CSVLogger(folder)
        trained(Doubles(), logger=logger, log_every_n_steps=1)
        assert "loss" in Path(logger.log_dir, "metrics.csv").read_text(encoding="utf-8")


@rows.lacks("A step that fails changes nothing", "weights that were stepped before the error stay so")
def transaction() -> None:
    a, b = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    (a.sum() + b.sum()).backward()
    optimizer = torch.optim.SGD([{"params": [a], "lr": 1.0}, {"params": [b], "lr": torch.ones(3)}])
    with refuses(TypeError):
        optimizer.step()
    near(a.detach(), [0.0, 0.0])
    near(b.detach(), [1.0, 1.0])


@rows.works("Where a NaN began")
def not_a_number() -> None:
    with refuses(RuntimeError), torch.autograd.detect_anomaly(check_nan=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.sqrt(nn.Parameter(torch.zeros(1)) * 0).sum().backward()


# -- how it runs --------------------------------------------------------------------------------------


@rows.works("Compilation")
def compiled() -> None:
    double = torch.compile(lambda x: torch.sin(x) * 2, fullgraph=True)
    near(double(X), 2 * np.sin(X.numpy()))


@rows.works("Networks that depend on computed values")
def dynamic() -> None:  # Python's if
    w = nn.Parameter(torch.tensor([3.0]))
    y = w * w if w.item() > 0 else -w
    y.sum().backward()
    near(w.grad, [6.0])


rows.absent(
    "Dynamic batching: trees of any shape in one batch",
    "nodes of one depth are put together by the user's code",
)


@rows.works("Less memory by computing again")
def recomputed() -> None:
    runs, w = [], nn.Parameter(torch.ones(1))

    def part(x: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return torch.sin(w * x)

    torch.utils.checkpoint.checkpoint(part, torch.ones(1), use_reentrant=False).sum().backward()
    assert len(runs) == 2
    near(w.grad, np.cos([1.0]))


@rows.works("Mixed precision")
def mixed() -> None:
    with torch.amp.autocast("cpu", torch.bfloat16):
        assert nn.Linear(2, 2)(torch.ones(1, 2)).dtype is torch.bfloat16
    model = Doubles()
    trained(model, precision="bf16-mixed")
    assert model.net.weight.dtype is torch.float32


rows.not_run("GPU", "no device here; `torch.cuda`, ROCm, MPS and XPU are of its documentation")
rows.not_run("TPU", "no device here; `torch_xla` is of its documentation")


@rows.works("One step by many processes")
def processes() -> None:  # DistributedDataParallel, by gloo
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(ranks.averaged, (folder,), nprocs=2)
        assert [float(Path(folder, str(rank)).read_text(encoding="utf-8")) for rank in range(2)] == [1.5] * 2


@rows.works("Parts of a model elsewhere")
def parts() -> None:  # torch.distributed.tensor.parallel
    with tempfile.TemporaryDirectory() as folder:
        torch.multiprocessing.spawn(ranks.divided, (folder,), nprocs=2)
        assert Path(folder, "0").is_file() and Path(folder, "1").is_file()


rows.not_run("Requests that are answered together", "programs of their own, such as Ray Serve and TorchServe")


@rows.works("Export to other runtimes")
def exported() -> None:
    net = nn.Linear(2, 2)
    program = torch.export.export(net, (torch.ones(1, 2),))
    near(program.module()(torch.ones(1, 2)).detach(), net(torch.ones(1, 2)).detach())


@rows.lacks("asyncio", "tensors and modules are not awaitable")
def awaited() -> None:
    assert not inspect.isawaitable(torch.ones(1)) and not inspect.isawaitable(Doubles())


# -- checking and looking -----------------------------------------------------------------------------


@rows.lacks("Shapes, before the program runs", "a checker sees `Tensor`, which has no parameter for a shape")
def shapes() -> None:
    assert not hasattr(torch.Tensor, "__parameters__")
    with refuses(RuntimeError):
        torch.ones(2, 3) @ torch.ones(2, 3)


@rows.lacks(
    "Element types and devices, before the program runs", "a checker sees `Tensor`, whatever it holds"
)
def element_types() -> None:
    with refuses(RuntimeError):
        torch.ones(2, dtype=torch.float64) @ torch.ones(2)


@rows.works("Shapes of a whole model without data")
def meta() -> None:
    with torch.device("meta"):
        assert nn.Linear(1 << 20, 1 << 20)(torch.empty(7, 1 << 20)).shape == (7, 1 << 20)


@rows.works("Derivatives against differences")
def differences() -> None:
    assert torch.autograd.gradcheck(torch.sin, (torch.ones(2, dtype=torch.float64, requires_grad=True),))


rows.absent("Tests of types", "its tests of its own types are not a tool for users")


@rows.works("A table of a model")
def table() -> None:
    said = str(torchinfo.summary(nn.Linear(2, 3), input_size=(1, 2), verbose=0))
    assert "Total params: 9" in said
    assert lightning.pytorch.utilities.model_summary.ModelSummary(Doubles()).total_parameters == 2


@rows.works("Where the time goes")
def profiled() -> None:
    with torch.profiler.profile() as profile:
        torch.ones(4, 4) @ torch.ones(4, 4)
    assert "aten::matmul" in {event.key for event in profile.key_averages()}


@rows.works("A picture of the graph")
def picture() -> None:
    net = nn.Linear(1, 1)
    dot = torchviz.make_dot(net(torch.ones(1, 1)), dict(net.named_parameters()))
    assert "AddmmBackward0" in dot.source and "weight" in dot.source


@rows.works("What is installed, and what of it is wrong")
def installed() -> None:  # what is installed; nothing is called wrong
    assert torch.__version__.split("+")[0] in torch.utils.collect_env.get_pretty_env_info()
