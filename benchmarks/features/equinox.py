"""Probes of Equinox.

Knows: Equinox, and packages that are made for it.
Refuses to know: rows that JAX and Optax answer.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import optimistix
import safetensors.numpy
from jaxtyping import PyTree

from benchmarks.features.probes import Rows, lacks_names, near, refuses

rows = Rows()
KEY = jax.random.key(0)
X = jnp.asarray([[1.0, 2.0], [3.0, 5.0]])


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("Linear algebra")
def linear_algebra() -> None:  # Lineax, and what JAX has
    near(lineax.linear_solve(lineax.MatrixLinearOperator(X), jnp.asarray([5.0, 13.0])).value, [1.0, 2.0])
    near(jax.grad(jax.numpy.linalg.det)(X), [[5.0, -3.0], [-2.0, 1.0]])


@rows.works("A loop as one node")
def loop() -> None:
    h = jax.grad(lambda w: jax.lax.scan(lambda h, _: (h * w, None), 1.0, length=3)[0])
    near(h(2.0), 12.0)


@rows.works("Derivatives by data")
def by_data() -> None:
    near(jax.grad(lambda w, x: (w * x * x).sum(), argnums=1)(1.0, jnp.asarray([1.0, 2.0])), [2.0, 4.0])


@rows.works("A function of one example, for a batch")
def vmap() -> None:
    near(jax.vmap(jnp.dot)(X, X), [5.0, 34.0])
    assert jax.vmap(eqx.nn.Linear(2, 3, key=KEY))(X).shape == (2, 3)


@rows.works("An operation of your own")
def own_operation() -> None:
    cube = jax.custom_vjp(lambda x: x**3)
    cube.defvjp(lambda x: (x**3, x), lambda x, delta: (7 * delta,))
    near(jax.grad(cube)(2.0), 7.0)


# -- layers and models --------------------------------------------------------------------------------


@rows.works("Dense, convolution, embedding, dropout, pooling")
def layers() -> None:
    conv = eqx.nn.Conv2d(1, 2, 3, key=KEY)
    net = eqx.nn.Sequential([conv, eqx.nn.MaxPool2d(2, 2), eqx.nn.Lambda(jnp.ravel), eqx.nn.Dropout(0.5)])
    assert net(jnp.ones((1, 6, 6)), key=KEY).shape == (8,)
    assert eqx.nn.Embedding(7, 4, key=KEY)(jnp.asarray(6)).shape == (4,)
    assert eqx.nn.Linear(2, 3, key=KEY)(X[0]).shape == (3,)


@rows.works("Normalizations")
def normalizations() -> None:
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="batch")
    out, _ = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(X, state)
    near(out.mean(0), [0.0, 0.0])
    near(eqx.nn.LayerNorm(2)(X[0]), [-1.0, 1.0], 1e-3)
    near(eqx.nn.RMSNorm(2)(jnp.full(2, 3.0)), [1.0, 1.0])
    near(eqx.nn.GroupNorm(1, 2)(X[0]), [-1.0, 1.0], 1e-3)


@rows.by_hand("Recurrent stacks: layers, both directions, lengths")
def recurrent() -> None:
    keys = jax.random.split(KEY, 4)
    stack = [
        [eqx.nn.LSTMCell(n, 4, key=k) for k in pair]
        for n, pair in zip((3, 8), keys.reshape(2, 2), strict=True)
    ]
    x, length = jnp.ones((5, 3)), 2

    def run(cell: eqx.nn.LSTMCell, x: jax.Array, reverse: bool) -> jax.Array:
        def step(state: tuple[jax.Array, jax.Array], given: tuple[jax.Array, jax.Array]) -> object:
            new = cell(given[0], state)
            kept = jax.tree.map(lambda a, b: jnp.where(given[1], a, b), new, state)
            return kept, jnp.where(given[1], kept[0], 0)

        here = jnp.arange(len(x)) < length
        return jax.lax.scan(step, (jnp.zeros(4), jnp.zeros(4)), (x, here), reverse=reverse)[1]

    for forward, backward in stack:
        x = jnp.concatenate([run(forward, x, False), run(backward, x, True)], -1)
    assert x.shape == (5, 8) and not x[2:].any() and x[:2].all()
    lacks_names(eqx.nn, "LSTM", "RNN", "GRU")


@rows.works("Attention and transformers")
def attention() -> None:
    heads = eqx.nn.MultiheadAttention(2, 8, key=KEY)
    x, causal = jnp.ones((3, 8)), jnp.tril(jnp.ones((3, 3), bool))
    assert heads(x, x, x, mask=causal).shape == (3, 8)
    near(eqx.nn.RotaryPositionalEmbedding(4)(jnp.ones((1, 4))), [[1.0] * 4])
    lacks_names(eqx.nn, "Transformer", "TransformerEncoder")


@rows.by_hand("Keys and values kept while writing")
def key_values() -> None:
    heads = eqx.nn.MultiheadAttention(1, 4, key=KEY)
    x = jax.random.normal(KEY, (3, 4))
    kept = jnp.zeros((0, 4))
    out = []
    for i in range(3):
        kept = jnp.concatenate([kept, x[i : i + 1]])
        out.append(heads(x[i : i + 1], kept, kept)[0])
    whole = heads(x, x, x, mask=jnp.tril(jnp.ones((3, 3), bool)))
    near(jnp.stack(out), whole)


@rows.works("Initializers")
def initializers() -> None:
    w = jax.nn.initializers.orthogonal()(KEY, (3, 3))
    near(w @ w.T, np.eye(3))


@rows.works("Freezing, tying, exchanging parts, LoRA")
def surgery() -> None:  # LoRA by exchanging parts
    net = eqx.nn.MLP(2, 2, 2, 1, key=KEY)
    learnt = eqx.tree_at(lambda m: m.layers[1].bias, jax.tree.map(lambda _: False, net), True)
    some, rest = eqx.partition(net, learnt)
    delta = eqx.filter_grad(lambda some: eqx.combine(some, rest)(X[0]).sum())(some)
    assert len(jax.tree.leaves(delta)) == 1
    pair = (eqx.nn.Linear(2, 2, key=KEY), eqx.nn.Linear(2, 2, key=KEY))
    tied = eqx.nn.Shared(pair, lambda p: p[1].weight, lambda p: p[0].weight)
    near(tied()[1].weight, pair[0].weight)
    lacks_names(eqx.nn, "LoRA")


@rows.works("State that is not learnt")
def state() -> None:
    index = eqx.nn.StateIndex(jnp.zeros(1))
    held: eqx.nn.State = eqx.nn.State(index)
    near(held.set(index, held.get(index) + 1).get(index), [1.0])


@rows.works("A table of a model")
def table() -> None:  # a tree of it, without counts
    assert "weight=f32[3,2]" in eqx.tree_pformat(eqx.nn.Linear(2, 3, key=KEY))
    assert callable(eqx.tree_pprint)


rows.absent("Trained models to download", "neither Equinox nor Optax has any; Eqxvision is no longer kept")


@rows.works("L-BFGS")
def lbfgs() -> None:  # of Optimistix, besides optax.lbfgs
    solver = optimistix.LBFGS(1e-6, 1e-6)
    near(optimistix.minimise(lambda w, _: ((w - 2) ** 2).sum(), solver, jnp.full(1, 5.0)).value, [2.0])


@rows.by_hand("Metrics that are merged over batches")
def metrics() -> None:
    right, seen = 0, 0
    for said, true in ((jnp.asarray([1, 0, 1]), jnp.asarray([1, 0, 0])), (jnp.ones(1), jnp.ones(1))):
        right, seen = right + int((said == true).sum()), seen + len(true)
    near(right / seen, 0.75)
    lacks_names(eqx, "metrics")


@rows.works("Where a NaN began")
def not_a_number() -> None:
    with jax.debug_nans(True), refuses(FloatingPointError):  # jax_debug_nans
        jnp.log(jnp.full(1, -1.0))
    checked = eqx.filter_jit(lambda x: eqx.error_if(x, jnp.isnan(x), "not a number"))
    with refuses(eqx.EquinoxRuntimeError):
        checked(jnp.asarray(jnp.nan)).block_until_ready()


# -- how it runs --------------------------------------------------------------------------------------


@rows.works("A step that fails changes nothing")
def transaction() -> None:  # values that you replace
    net = eqx.nn.Linear(2, 2, key=KEY)
    before = net.weight
    with refuses(TypeError, ValueError):
        net = eqx.apply_updates(net, eqx.tree_at(lambda n: n.weight, net, jnp.ones((3, 7))))
    assert net.weight is before


@rows.works("Compilation")
def compiled() -> None:
    net = eqx.nn.Linear(2, 2, key=KEY)
    near(eqx.filter_jit(lambda n, x: n(x))(net, X[0]), net(X[0]))


@rows.works("Networks that depend on computed values")
def dynamic() -> None:
    def square(x: jax.Array) -> jax.Array:
        return x * x

    near(jax.jit(jax.grad(lambda x: jax.lax.cond(x > 0, square, jnp.negative, x)))(3.0), 6.0)
    near(jax.grad(lambda x: square(x) if x > 0 else -x)(3.0), 6.0)
    with refuses(jax.errors.TracerBoolConversionError):
        jax.jit(lambda x: square(x) if x > 0 else -x)(3.0)


@rows.works("Less memory by computing again")
def recomputed() -> None:
    part = eqx.filter_checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    assert "remat" in str(jax.make_jaxpr(jax.grad(part))(1.0))


@rows.works("Mixed precision")
def mixed() -> None:  # by dtype
    net = eqx.nn.Linear(2, 2, dtype=jnp.bfloat16, key=KEY)
    assert net(X[0].astype(jnp.bfloat16)).dtype == jnp.bfloat16


@rows.by_hand("Weights from PyTorch")
def weights() -> None:
    theirs = {"weight": np.ones((3, 2), np.float32), "bias": np.full(3, 2.0, np.float32)}
    read = safetensors.numpy.load(safetensors.numpy.save(theirs))
    net = eqx.nn.Linear(2, 3, key=KEY)
    net = eqx.tree_at(
        lambda n: (n.weight, n.bias), net, (jnp.asarray(read["weight"]), jnp.asarray(read["bias"]))
    )
    near(net(X[0]), [5.0, 5.0, 5.0])


@rows.works("Shapes of a whole model without data")
def whole_shapes() -> None:
    def model(x: PyTree) -> PyTree:
        return jax.vmap(eqx.nn.Linear(1 << 16, 1 << 16, key=KEY))(x)

    given = jax.ShapeDtypeStruct((7, 1 << 16), jnp.float32)
    assert eqx.filter_eval_shape(model, given).shape == (7, 1 << 16)
