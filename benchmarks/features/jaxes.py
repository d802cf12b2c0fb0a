"""Probes of JAX and Optax, which Equinox and Flax are used with: rows that both answer by these alone.

Knows: JAX, Optax, and packages that are made for both.
Refuses to know: Equinox and Flax.
"""

from __future__ import annotations

import inspect
import io
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import grain
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint
import tokenizers
from absl import flags
from jax import test_util
from jax.experimental import checkify
from jaxtyping import Float

from benchmarks.features.probes import Rows, lacks_names, near, refuses, standard_names

rows = Rows()
X = jnp.asarray([[1.0, 2.0], [3.0, 5.0]])


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("Functions of the array API standard")
def array_api() -> None:
    assert standard_names(jax.numpy) == 126
    near(jnp.hypot(3.0, 4.0), 5.0)


@rows.works("Linear algebra")
def linear_algebra() -> None:
    near(jax.numpy.linalg.solve(X, jnp.asarray([5.0, 13.0])), [1.0, 2.0])
    near(jax.grad(jnp.linalg.det)(X), [[5.0, -3.0], [-2.0, 1.0]])


@rows.works("Fourier transforms")
def fourier() -> None:
    near(jax.numpy.fft.rfft(jnp.asarray([1.0, 2.0, 3.0, 4.0])).real, [10.0, -2.0, -2.0])


@rows.works("Complex numbers as elements")
def complex_numbers() -> None:
    z = jax.numpy.complex64(1 + 2j)
    near(z * z, -3 + 4j)


@rows.works("Convolutions in 1, 2 and 3 dimensions")
def convolutions() -> None:
    for rank in (1, 2, 3):
        x, w = jnp.ones((1, 1, *[5] * rank)), jnp.ones((1, 1, *[3] * rank))
        whole = jax.lax.conv_general_dilated(x, w, (1,) * rank, "VALID", rhs_dilation=(2,) * rank)
        near(whole.ravel(), [3.0**rank])


@rows.works("Scatter, segments, sparse products")
def scatter() -> None:
    x, i = jnp.asarray([1.0, 2.0, 4.0]), jnp.asarray([0, 1, 0])
    near(jax.ops.segment_sum(x, i, 2), [5.0, 2.0])
    near(jnp.zeros(2).at[i].add(x), [5.0, 2.0])


@rows.works("Higher derivatives")
def higher() -> None:
    third = jax.grad(jax.grad(jax.grad(lambda x: x**4)))
    near(third(2.0), 48.0)


@rows.works("Jacobians, products with them and with Hessians")
def jacobians() -> None:
    x = jnp.asarray([1.0, 2.0])
    near(jax.jvp(jnp.square, (x,), (jnp.ones(2),))[1], [2.0, 4.0])
    near(jax.jacrev(jnp.square)(x), [[2.0, 0.0], [0.0, 4.0]])
    near(jax.hessian(lambda x: (x**3).sum())(x), [[6.0, 0.0], [0.0, 12.0]])


class Metres:
    """A type of a user's own."""

    def __init__(self, x: jax.Array) -> None:
        self.x = x


jax.tree_util.register_pytree_node(Metres, lambda m: ((m.x,), None), lambda _, parts: Metres(*parts))


@rows.works("A type of your own that is differentiated")
def own_type() -> None:  # pytrees of arrays
    delta = jax.grad(lambda m: (m.x**2).sum())(Metres(jnp.asarray([3.0])))
    assert isinstance(delta, Metres)
    near(delta.x, [6.0])


# -- losses and optimizers ----------------------------------------------------------------------------


@rows.works("Losses")
def losses() -> None:
    near(optax.losses.softmax_cross_entropy_with_integer_labels(jnp.zeros(2), 1), np.log(2))
    near(optax.losses.sigmoid_binary_cross_entropy(jnp.zeros(1), jnp.ones(1)), [np.log(2)])
    near(optax.losses.huber_loss(jnp.asarray([3.0])), [2.5])
    given = jnp.zeros((1, 3, 2)), jnp.zeros((1, 3)), jnp.ones((1, 1), int), jnp.zeros((1, 1))
    near(optax.losses.ctc_loss(*given), [-np.log(6 / 8)])


def stepped(rule: optax.GradientTransformation, weights: Any, deltas: Any) -> Any:
    # Any: trees of arrays
    updates, _ = rule.update(deltas, rule.init(weights), weights)
    return optax.apply_updates(weights, updates)


@rows.works("Optimizers")
def optimizers() -> None:
    names = ("adamw", "lion", "adafactor", "lamb", "radam", "nadam", "adadelta", "rprop", "sophia", "yogi")
    there = [name for name in names if hasattr(optax, name) or hasattr(optax.contrib, name)]
    assert len(there) == len(names) and hasattr(optax.contrib, "muon")
    near(stepped(optax.adam(0.1), jnp.ones(1), 3 * jnp.ones(1)), [0.9])


@rows.works("L-BFGS")
def lbfgs() -> None:
    def loss(w: jax.Array) -> jax.Array:
        return ((w - 2) ** 2).sum()

    rule, w = optax.lbfgs(), jnp.full(1, 5.0)
    state = rule.init(w)
    for _ in range(5):
        value, delta = optax.value_and_grad_from_state(loss)(w, state=state)
        updates, state = rule.update(delta, state, w, value=value, grad=delta, value_fn=loss)
        w = optax.apply_updates(w, updates)
    near(w, [2.0])


@rows.works("Schedules of the rate")
def schedules() -> None:
    near(optax.schedules.cosine_decay_schedule(1.0, 2)(1), 0.5)


@rows.works("Clipping")
def clipping() -> None:
    near(stepped(optax.clip_by_global_norm(1.0), jnp.zeros(2), jnp.asarray([6.0, 8.0])), [0.6, 0.8])


@rows.works("Groups of weights")
def groups() -> None:
    rule = optax.partition({"slow": optax.sgd(0.1), "fast": optax.sgd(0.5)}, {"a": "slow", "b": "fast"})
    new = stepped(rule, {"a": jnp.ones(1), "b": jnp.ones(1)}, {"a": jnp.ones(1), "b": jnp.ones(1)})
    near(new["a"], [0.9])
    near(new["b"], [0.5])


@rows.works("Averages of weights")
def averages() -> None:
    near(optax.incremental_update(jnp.asarray([3.0]), jnp.asarray([1.0]), 0.5), [2.0])
    ahead = optax.lookahead(optax.sgd(1.0), sync_period=1, slow_step_size=0.5)
    pair = stepped(ahead, optax.LookaheadParams.init_synced(jnp.zeros(1)), jnp.ones(1))
    near(pair.slow, [-0.5])


# -- data and the loop --------------------------------------------------------------------------------


@rows.works("Sets of examples, batches, splits by a seed")
def batches() -> None:  # of Grain
    a, b = (
        [int(x) for x in grain.MapDataset.source(range(8)).shuffle(seed=1).to_iter_dataset()]
        for _ in range(2)
    )
    assert a == b != list(range(8))
    near(list(grain.MapDataset.range(8).batch(4))[1], [4, 5, 6, 7])


@rows.works("Batches made by worker processes")
def workers() -> None:  # of Grain
    flags.FLAGS.mark_as_parsed()
    source = grain.MapDataset.range(8).batch(4).to_iter_dataset()
    near(list(source.mp_prefetch(grain.MultiprocessingOptions(num_workers=2))), [[0, 1, 2, 3], [4, 5, 6, 7]])


@rows.by_hand("Samplers, lengths, padding")
def samplers() -> None:
    drawn = np.random.default_rng(0).choice(2, 9, p=[0.0, 1.0])
    lists = [[1.0, 1.0, 1.0], [1.0]]
    padded = np.zeros((2, max(map(len, lists))))
    for row, values in zip(padded, lists, strict=True):
        row[: len(values)] = values
    near(drawn, [1] * 9)
    near(padded, [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    lacks_names(optax, "pad_sequences")
    lacks_names(jax, "data")


@rows.by_hand("Tables, CSV, frames")
def tables() -> None:
    lines = ["a,b,y", "1,2,3", "4,5,9"]
    numbers = np.loadtxt(lines, np.float32, delimiter=",", skiprows=1)
    x, y = numbers[:, :2], numbers[:, 2]
    near(x[1], [4.0, 5.0])
    near(y[1], 9.0)


@rows.works("Tokenizers")
def tokens() -> None:  # of Hugging Face
    words = tokenizers.models.WordLevel({"?": 0, "a": 1, "tree": 2}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    assert tokenizer.encode("a tree of").ids == [1, 2, 0]


@rows.by_hand("Images: files, changes by chance")
def images() -> None:
    rng = np.random.default_rng(0)
    batch = np.arange(32.0).reshape(2, 4, 4)
    flipped = np.where(rng.random((2, 1, 1)) < 0.5, batch[..., ::-1], batch)
    corners = rng.integers(0, 2, (2, 2))
    cropped = np.stack([x[i : i + 3, j : j + 3] for x, (i, j) in zip(flipped, corners, strict=True)])
    assert cropped.shape == (2, 3, 3)
    lacks_names(jax.image, "random_crop", "read")


@rows.by_hand("The loop")
def loop() -> None:
    lacks_names(optax, "fit", "Trainer")
    rule, w = optax.adam(0.5), jnp.zeros(1)
    state = rule.init(w)
    step = jax.jit(lambda w, state: rule.update(jax.grad(lambda w: ((w - 2) ** 2).sum())(w), state, w))
    for _ in range(100):
        updates, state = step(w, state)
        w = optax.apply_updates(w, updates)
    near(w, [2.0], 1e-2)


@rows.by_hand("Early stop, the best weights")
def early_stop() -> None:
    losses = iter([3.0, 1.0, 2.0, 2.5, 9.0])
    best, best_loss, waited, epoch = jnp.zeros(1), np.inf, 0, 0
    for epoch, loss in enumerate(losses):
        if loss < best_loss:
            best, best_loss, waited = jnp.full(1, float(epoch)), loss, 0
        else:
            waited += 1
        if waited == 2:
            break
    assert epoch == 3
    near(best, [1.0])
    lacks_names(optax, "EarlyStopping")


@rows.by_hand("Killed and resumed with the same bits")
def resumed() -> None:  # Orbax writes; what is to be written, and when, is the user's
    rule, w = optax.adam(0.5), jnp.zeros(1)
    state = rule.init(w)

    def steps(n: int, w: jax.Array, state: optax.OptState) -> tuple[jax.Array, optax.OptState]:
        for _ in range(n):
            updates, state = rule.update(w - 2, state, w)
            w = optax.apply_updates(w, updates)
        return w, state

    with tempfile.TemporaryDirectory() as folder, orbax.checkpoint.StandardCheckpointer() as files:
        files.save(Path(folder, "half"), steps(2, w, state))
        files.wait_until_finished()
        half = files.restore(Path(folder, "half"), (w, state))
    assert np.array_equal(steps(2, *half)[0], steps(4, w, state)[0])


@rows.works("Several batches a step")
def accumulated() -> None:
    rule, w = optax.MultiSteps(optax.sgd(1.0), 2), jnp.zeros(1)
    state = rule.init(w)
    seen = []
    for delta in (1.0, 3.0):
        updates, state = rule.update(jnp.full(1, delta), state, w)
        w = optax.apply_updates(w, updates)
        seen.append(float(w[0]))
    near(seen, [0.0, -2.0])


@rows.by_hand("Curves and logs")
def logs() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(folder, "log.csv").open("w+", encoding="utf-8") as file,
    ):
        file.write("step,loss\n")
        for step, loss in enumerate([2.0, 1.0]):
            file.write(f"{step},{loss}\n")
        file.seek(0)
        assert file.read().splitlines()[-1] == "1,1.0"
    lacks_names(jax, "logging")


@rows.works("Where a NaN began")
def not_a_number() -> None:
    with jax.debug_nans(True), refuses(FloatingPointError):  # jax_debug_nans
        jnp.log(jnp.full(1, -1.0))
    checked = checkify.checkify(lambda x: jnp.log(x), errors=checkify.nan_checks)
    error, _ = checked(-1.0)
    assert "nan generated by primitive: log" in error.get()


# -- how it runs --------------------------------------------------------------------------------------


rows.absent("Dynamic batching: trees of any shape in one batch", "a program is traced for one structure")


rows.not_run("GPU", "no device here; CUDA and ROCm are of its documentation")
rows.not_run("TPU", "no device here; JAX's documentation has it")


def _mesh() -> jax.sharding.Mesh:
    return jax.make_mesh((2,), ("parts",), axis_types=(jax.sharding.AxisType.Auto,))


@rows.works("One step by many processes")
def processes() -> None:  # many devices of one process here
    rows_apart = jax.sharding.NamedSharding(_mesh(), jax.sharding.PartitionSpec("parts"))
    x = jax.device_put(X, rows_apart)
    assert len(x.addressable_shards) == 2
    near(jax.jit(jax.grad(lambda w: ((x @ w) ** 2).mean()))(jnp.ones(2)), [27.0, 46.0])


@rows.works("Parts of a model elsewhere")
def parts() -> None:
    columns_apart = jax.sharding.NamedSharding(_mesh(), jax.sharding.PartitionSpec(None, "parts"))
    w = jax.device_put(jnp.ones((2, 4)), columns_apart)
    assert [shard.data.shape for shard in w.addressable_shards] == [(2, 2)] * 2
    near(jax.jit(jnp.matmul)(X, w)[0], [3.0] * 4)


rows.not_run("Requests that are answered together", "programs of their own, such as Ray Serve")


@rows.works("Export to other runtimes")
def exported() -> None:
    whole = jax.export.export(jax.jit(jnp.sin))(jax.ShapeDtypeStruct((2,), np.float32))
    near(jax.export.deserialize(whole.serialize()).call(jnp.ones(2)), np.sin([1.0, 1.0]))


@rows.works("Arrays exchanged without a copy")
def exchange() -> None:  # DLPack
    x = jnp.arange(64.0)
    assert np.from_dlpack(x).ctypes.data == x.unsafe_buffer_pointer()


@rows.lacks("asyncio", "arrays are not awaitable, though they are computed while Python goes on")
def awaited() -> None:
    assert not inspect.isawaitable(jnp.ones(1))


# -- checking and looking -----------------------------------------------------------------------------


@rows.lacks(
    "Shapes, before the program runs",
    "jaxtyping's annotations are arrays to a checker",
)
def shapes() -> None:
    assert isinstance(jnp.ones(3), Float[jax.Array, "3"]) and not isinstance(
        jnp.ones(2), Float[jax.Array, "3"]
    )


@rows.lacks("Element types and devices, before the program runs", "as shapes; jaxtyping has no devices")
def element_types() -> None:
    assert not isinstance(jnp.ones(3, int), Float[jax.Array, "3"])


@rows.works("Derivatives against differences")
def differences() -> None:
    jax.test_util.check_grads(jnp.sin, (1.0,), order=2)
    wrong = jax.custom_vjp(jnp.sin)
    wrong.defvjp(lambda x: (jnp.sin(x), x), lambda x, d: (d,))
    with refuses(AssertionError):
        test_util.check_grads(wrong, (1.0,), order=1, modes=["rev"])


rows.absent("Tests of types", "its tests of its own types are not a tool for users")


@rows.works("Where the time goes")
def profiled() -> None:
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jnp.dot(X, X).block_until_ready()
        assert list(Path(folder).rglob("*.xplane.pb"))


@rows.works("A picture of the graph")
def picture() -> None:  # the text of a jaxpr
    assert "sin" in str(jax.make_jaxpr(jnp.sin)(1.0))


@rows.works("What is installed, and what of it is wrong")
def installed() -> None:  # what is installed; nothing is called wrong
    said = io.StringIO()
    with redirect_stdout(said):
        jax.print_environment_info()
    assert f"jax:    {jax.__version__}" in said.getvalue()
