"""Probes of Flax NNX.

Knows: Flax NNX.
Refuses to know: rows that JAX and Optax answer.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import safetensors.numpy
from flax import nnx

from benchmarks.features.probes import Rows, lacks_names, near, refuses

rows = Rows()
X = jnp.asarray([[1.0, 2.0], [3.0, 5.0]])


def rngs() -> nnx.Rngs:
    return nnx.Rngs(0)


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("A loop as one node")
def loop() -> None:
    @nnx.scan(in_axes=(nnx.Carry, None), out_axes=(nnx.Carry, 0), length=3)
    def times(h: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
        return h * w, h

    near(jax.grad(lambda w: times(jnp.asarray(1.0), w)[0])(2.0), 12.0)


@rows.works("Higher derivatives")
def higher() -> None:
    near(nnx.grad(nnx.grad(nnx.grad(lambda x: x**4)))(2.0), 48.0)


@rows.works("Derivatives by data")
def by_data() -> None:
    near(nnx.grad(lambda w, x: (w * x * x).sum(), argnums=1)(1.0, jnp.asarray([1.0, 2.0])), [2.0, 4.0])


@rows.works("A function of one example, for a batch")
def vmap() -> None:
    near(nnx.vmap(lambda a, b: a @ b)(X, X), [5.0, 34.0])


@rows.works("An operation of your own")
def own_operation() -> None:
    @nnx.custom_vjp
    def cube(x: jax.Array) -> jax.Array:
        return x**3

    def forward(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        return x**3, x

    cube.defvjp(forward, lambda x, delta: (7 * delta[1],))
    near(nnx.grad(cube)(jnp.asarray(2.0)), 7.0)


# -- layers and models --------------------------------------------------------------------------------


@rows.works("Dense, convolution, embedding, dropout, pooling")
def layers() -> None:
    net = nnx.Sequential(
        nnx.Conv(1, 2, (3, 3), padding="VALID", rngs=rngs()),
        lambda x: nnx.max_pool(x, (2, 2), (2, 2)).reshape(len(x), -1),
        nnx.Dropout(0.5, rngs=rngs()),
        nnx.Linear(8, 3, rngs=rngs()),
    )
    assert net(jnp.ones((5, 6, 6, 1))).shape == (5, 3)
    assert nnx.Embed(7, 4, rngs=rngs())(jnp.asarray([1, 6])).shape == (2, 4)


@rows.works("Normalizations")
def normalizations() -> None:
    for norm in (
        nnx.BatchNorm(2, rngs=rngs()),
        nnx.LayerNorm(2, rngs=rngs()),
        nnx.GroupNorm(2, 1, rngs=rngs()),
    ):
        near(norm(X).mean(), 0.0)
    near(nnx.RMSNorm(2, rngs=rngs())(jnp.full((1, 2), 3.0)), [[1.0, 1.0]])
    near(nnx.InstanceNorm(2, rngs=rngs())(X[None]).mean(), 0.0)


@rows.works("Recurrent stacks: layers, both directions, lengths")
def recurrent() -> None:
    x, lengths = jnp.ones((2, 5, 3)), jnp.asarray([5, 2])
    for size in (3, 8):
        there, back = (nnx.RNN(nnx.LSTMCell(size, 4, rngs=rngs())) for _ in range(2))
        x = nnx.Bidirectional(there, back)(x, seq_lengths=lengths)
    assert x.shape == (2, 5, 8)
    one = nnx.RNN(nnx.LSTMCell(3, 4, rngs=rngs()), return_carry=True)
    state, out = one(jnp.ones((2, 5, 3)), seq_lengths=lengths)
    near(state[1][1], out[1, 1])


@rows.works("Attention and transformers")
def attention() -> None:
    heads = nnx.MultiHeadAttention(2, 8, decode=False, rngs=rngs())
    x = jnp.ones((1, 3, 8))
    assert heads(x, mask=nnx.make_causal_mask(x[..., 0])).shape == (1, 3, 8)
    lacks_names(nnx, "Transformer", "TransformerEncoder")


@rows.works("Keys and values kept while writing")
def key_values() -> None:
    heads = nnx.MultiHeadAttention(1, 4, decode=True, rngs=rngs())
    x = jax.random.normal(jax.random.key(0), (1, 3, 4))
    heads.init_cache((1, 3, 4))
    out = jnp.concatenate([heads(x[:, i : i + 1]) for i in range(3)], 1)
    near(out, heads(x, mask=nnx.make_causal_mask(x[..., 0]), decode=False))


@rows.works("Initializers")
def initializers() -> None:
    w = nnx.initializers.orthogonal()(jax.random.key(0), (3, 3))
    near(w @ w.T, np.eye(3))


class Pair(nnx.Module):
    """Two layers, of which one can be kept."""

    def __init__(self) -> None:
        self.a = nnx.Linear(2, 2, rngs=rngs())
        self.b = nnx.Linear(2, 2, rngs=rngs())

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.b(self.a(x))


@rows.works("Freezing, tying, exchanging parts, LoRA")
def surgery() -> None:
    net = Pair()
    by_b = nnx.DiffState(0, nnx.All(nnx.Param, nnx.PathContains("b")))
    delta = nnx.grad(lambda net: net(X).sum(), argnums=by_b)(net)
    assert list(delta) == ["b"]
    net.b = net.a
    assert len(jax.tree.leaves(nnx.state(net, nnx.Param))) == 2
    net.b = nnx.LoRA(2, 1, 2, base_module=net.b, rngs=rngs())
    assert len(jax.tree.leaves(nnx.state(net, nnx.LoRAParam))) == 2


class Seen(nnx.Variable):
    """A count."""


@rows.works("State that is not learnt")
def state() -> None:
    class Counter(nnx.Module):
        def __init__(self) -> None:
            self.seen = Seen(jnp.zeros(1))

    counter = Counter()
    nnx.jit(lambda c: c.seen.set_value(c.seen + 1))(counter)
    near(counter.seen.get_value(), [1.0])
    assert not jax.tree.leaves(nnx.state(counter, nnx.Param)) and issubclass(Seen, nnx.Variable)


@rows.works("A table of a model")
def table() -> None:
    assert "Linear" in nnx.tabulate(Pair(), X)


rows.absent("Trained models to download", "Flax has none; some are in other repositories, such as Gemma's")


@rows.works("Metrics that are merged over batches")
def metrics() -> None:
    accuracy = nnx.metrics.Accuracy()
    accuracy.update(logits=jnp.asarray([[0.0, 1], [1, 0], [0, 1]]), labels=jnp.asarray([1, 0, 0]))
    accuracy.update(logits=jnp.asarray([[0.0, 1]]), labels=jnp.asarray([1]))
    near(accuracy.compute(), 0.75)


# -- how it runs --------------------------------------------------------------------------------------


@rows.lacks(
    "A step that fails changes nothing",
    "modules and optimizers are changed in place",
)
def transaction() -> None:
    net = Pair()
    optimizer = nnx.Optimizer(net, optax.sgd(1.0), wrt=nnx.Param)
    before = net.a.bias.get_value()
    with refuses(TypeError, ValueError):
        for delta in (jnp.ones(2), jnp.ones(3)):
            deltas = jax.tree.map(jnp.zeros_like, nnx.state(net, nnx.Param))
            deltas["a"]["bias"] = deltas["a"]["bias"].replace(delta)
            optimizer.update(net, deltas)
    near(net.a.bias.get_value(), before - 1)


@rows.works("Compilation")
def compiled() -> None:
    net = Pair()
    near(nnx.jit(lambda n, x: n(x))(net, X), net(X))


@rows.works("Networks that depend on computed values")
def dynamic() -> None:
    def square(x: jax.Array) -> jax.Array:
        return x * x

    near(nnx.jit(nnx.grad(lambda x: nnx.cond(x > 0, square, jnp.negative, x)))(3.0), 6.0)
    near(nnx.grad(lambda x: square(x) if x > 0 else -x)(3.0), 6.0)
    with refuses(jax.errors.TracerBoolConversionError):
        nnx.jit(lambda x: square(x) if x > 0 else -x)(3.0)


@rows.works("Less memory by computing again")
def recomputed() -> None:
    part = nnx.remat(lambda x: jnp.sin(jnp.sin(x)))
    assert "remat" in str(jax.make_jaxpr(jax.grad(part))(1.0))


@rows.works("Mixed precision")
def mixed() -> None:
    net = nnx.Linear(2, 2, dtype=jnp.bfloat16, param_dtype=jnp.float32, rngs=rngs())
    assert net(X).dtype == jnp.bfloat16 and net.kernel.dtype == jnp.float32


@rows.by_hand("Weights from PyTorch")
def weights() -> None:
    theirs = {"weight": np.ones((3, 2), np.float32), "bias": np.full(3, 2.0, np.float32)}
    read = safetensors.numpy.load(safetensors.numpy.save(theirs))
    net = nnx.Linear(2, 3, rngs=rngs())
    net.kernel.set_value(jnp.asarray(read["weight"].T))
    net.bias.set_value(jnp.asarray(read["bias"]))
    near(net(X[:1]), [[5.0, 5.0, 5.0]])


@rows.works("Shapes of a whole model without data")
def whole_shapes() -> None:
    def model(x: jax.Array) -> jax.Array:
        return nnx.Linear(1 << 16, 1 << 16, rngs=rngs())(x)

    assert nnx.eval_shape(model, jax.ShapeDtypeStruct((7, 1 << 16), jnp.float32)).shape == (7, 1 << 16)
