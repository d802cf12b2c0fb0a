"""Probes of Keras 3, with JAX behind it.

Knows: Keras, KerasHub, and JAX where Keras leaves a row to its backend.
Refuses to know: the other backends.
"""

from __future__ import annotations

import csv
import inspect
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import keras
import keras_hub
import numpy as np
from keras import layers, ops, utils

from benchmarks.features.probes import Rows, lacks_names, near, refuses, standard_names

rows = Rows()
X = np.asarray([[1.0, 2.0], [3.0, 5.0]], np.float32)
IN, OUT = np.arange(8, dtype=np.float32)[:, None] / 8, np.arange(8, dtype=np.float32)[:, None] / 4


def line(**options: object) -> keras.Model:
    """A compiled model of one weight and one bias, the same each time."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1)])
    model.compile(**{"optimizer": keras.optimizers.Adam(0.1), "loss": "mse", **options})
    return model


def fit(
    model: keras.Model, epochs: int = 1, *callbacks: keras.callbacks.Callback, shuffle: bool = False
) -> list[float]:
    given = {"batch_size": 4, "epochs": epochs, "verbose": 0, "shuffle": shuffle}
    history = model.fit(IN, OUT, callbacks=list(callbacks), **given)
    return [float(loss) for loss in history.history["loss"]]


# -- operations and derivatives -----------------------------------------------------------------------


@rows.works("Functions of the array API standard")
def array_api() -> None:
    assert standard_names(keras.ops) == 101
    near(ops.hypot(3.0, 4.0), 5.0)


@rows.works("Linear algebra")
def linear_algebra() -> None:
    near(ops.solve(X, np.asarray([5.0, 13.0], np.float32)), [1.0, 2.0])
    near(keras.ops.svd(X, compute_uv=False).prod(), 1.0)
    near(ops.eigh(np.eye(2, dtype=np.float32))[0], [1.0, 1.0])


@rows.works("Fourier transforms")
def fourier() -> None:  # of pairs
    real, imaginary = keras.ops.fft((ops.array([1.0, 2.0, 3.0, 4.0]), ops.zeros(4)))
    near(real, [10.0, -2.0, -2.0, -2.0])
    near(imaginary, [0.0, 2.0, 0.0, -2.0])


@rows.works("Complex numbers as elements")
def complex_numbers() -> None:
    z = ops.convert_to_tensor([1 + 2j], "complex64")
    near(z * z, [-3 + 4j])


@rows.works("Convolutions in 1, 2 and 3 dimensions")
def convolutions() -> None:
    for rank in (1, 2, 3):
        x, w = ops.ones((1, *[5] * rank, 1)), ops.ones((*[3] * rank, 1, 1))
        near(keras.ops.conv(x, w, dilation_rate=2), np.full((1,) * (rank + 2), 3.0**rank))
    near(ops.sum(ops.conv_transpose(ops.ones((1, 1, 1, 1)), ops.ones((2, 2, 1, 1)), 1)), 4.0)


@rows.works("Scatter, segments, sparse products")
def scatter() -> None:
    x, i = ops.array([1.0, 2.0, 4.0]), ops.array([0, 1, 0])
    near(keras.ops.segment_sum(x, i, 2), [5.0, 2.0])
    near(ops.scatter(i[:, None], x, (2,)), [5.0, 2.0])


@rows.works("A loop as one node")
def loop() -> None:
    w = jax.grad(lambda w: keras.ops.scan(lambda h, _: (h * w, h), ops.array(1.0), length=3)[0])
    near(w(2.0), 12.0)


@rows.works("Higher derivatives")
def higher() -> None:  # by its backend
    near(jax.grad(jax.grad(jax.grad(lambda x: ops.power(x, 4))))(2.0), 48.0)
    lacks_names(keras.ops, "grad", "gradients")


@rows.works("Jacobians, products with them and with Hessians")
def jacobians() -> None:  # jvp its own, others by its backend
    x = jnp.asarray([1.0, 2.0])
    near(keras.ops.jvp(ops.square, (x,), (ops.ones(2),))[1], [2.0, 4.0])
    near(jax.hessian(lambda x: ops.sum(x**3))(x), [[6.0, 0.0], [0.0, 12.0]])
    lacks_names(keras.ops, "jacobian", "jacrev", "hessian", "vjp")


@rows.works("Derivatives by data")
def by_data() -> None:  # by its backend
    near(jax.grad(lambda x: ops.sum(x * x))(jnp.asarray([1.0, 2.0])), [2.0, 4.0])


@rows.works("A function of one example, for a batch")
def vmap() -> None:
    near(keras.ops.vectorized_map(lambda x: ops.sum(x * x), X), [5.0, 34.0])


@rows.works("An operation of your own")
def own_operation() -> None:
    @keras.ops.custom_gradient
    def cube(x: jax.Array) -> tuple[jax.Array, object]:
        return x**3, lambda upstream: 7 * upstream

    near(jax.grad(cube)(2.0), 7.0)


@rows.lacks(
    "A type of your own that is differentiated",
    "an operation takes tensors; trees of them are `keras.tree`'s",
)
def own_type() -> None:
    class Metres:
        def __init__(self) -> None:
            self.x = X

    with refuses(TypeError, ValueError):
        ops.sum(Metres())


# -- layers and models --------------------------------------------------------------------------------


@rows.works("Dense, convolution, embedding, dropout, pooling")
def all_layers() -> None:
    parts = [
        layers.Conv2D(2, 3),
        layers.MaxPooling2D(2),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(3),
    ]
    assert keras.Sequential(parts)(np.ones((5, 6, 6, 1))).shape == (5, 3)
    assert keras.layers.Embedding(7, 4)(np.asarray([1, 6])).shape == (2, 4)


@rows.works("Normalizations")
def normalizations() -> None:
    near(ops.mean(layers.BatchNormalization()(X, training=True)), 0.0)
    near(layers.LayerNormalization()(X[:1]), [[-1.0, 1.0]], 1e-2)
    near(layers.RMSNormalization()(np.full((1, 2), 3.0, np.float32)), [[1.0, 1.0]])
    near(layers.GroupNormalization(1)(X[:1]), [[-1.0, 1.0]], 1e-2)


@rows.works("Recurrent stacks: layers, both directions, lengths")
def recurrent() -> None:
    x, mask = np.ones((2, 5, 3), np.float32), np.arange(5) < np.asarray([[5], [2]])
    first = layers.Bidirectional(keras.layers.LSTM(4, return_sequences=True, zero_output_for_mask=True))
    second = layers.Bidirectional(layers.LSTM(4, return_sequences=True, zero_output_for_mask=True))
    out = np.asarray(second(first(x, mask=mask), mask=mask))
    assert out.shape == (2, 5, 8) and not out[1, 2:].any()


@rows.works("Attention and transformers")
def attention() -> None:
    heads = keras.layers.MultiHeadAttention(2, 4)
    x = np.ones((1, 3, 8), np.float32)
    assert heads(x, x, use_causal_mask=True).shape == (1, 3, 8)
    lacks_names(keras.layers, "TransformerEncoder")  # KerasHub has it
    assert keras_hub.layers.TransformerEncoder(8, 2)(x).shape == (1, 3, 8)


@rows.works("Keys and values kept while writing")
def key_values() -> None:  # of KerasHub
    decoder = keras_hub.layers.TransformerDecoder(8, 2)
    x = keras.random.normal((1, 3, 8), seed=0)
    whole = decoder(x)
    cache, parts = ops.zeros((1, 2, 3, 2, 4)), []
    for i in range(3):
        part, cache = decoder(
            x[:, i : i + 1], self_attention_cache=cache, self_attention_cache_update_index=i
        )
        parts.append(part)
    near(ops.concatenate(parts, 1), whole)


@rows.works("Initializers")
def initializers() -> None:
    w = keras.initializers.Orthogonal()((3, 3))
    near(w @ w.T, np.eye(3))


@rows.works("Freezing, tying, exchanging parts, LoRA")
def surgery() -> None:
    layer = layers.Dense(2)
    layer.build((None, 2))
    layer.trainable = False
    assert not layer.trainable_weights
    layer.trainable = True
    layer.enable_lora(1)
    assert len(layer.trainable_weights) == 3 and len(layer.non_trainable_weights) == 1
    shared = keras.Sequential([layer, layer])
    assert len(shared.weights) == 4


@rows.works("State that is not learnt")
def state() -> None:  # weights that are not trainable
    layer = layers.BatchNormalization()
    layer(X, training=True)
    assert len(layer.non_trainable_weights) == 2
    near(layer.moving_mean, [0.02, 0.035])


@rows.works("A table of a model")
def table() -> None:
    said = list[str]()
    keras.Model.summary(line(), print_fn=lambda text, **_: said.append(text))
    assert "Total params: 2" in "".join(said)


rows.not_run("Trained models to download", "the network could not be reached")


# -- losses and optimizers ----------------------------------------------------------------------------


@rows.works("Losses")
def losses() -> None:
    near(
        keras.losses.SparseCategoricalCrossentropy(from_logits=True)(np.ones(1), np.zeros((1, 2))), np.log(2)
    )
    near(keras.losses.BinaryCrossentropy(from_logits=True)(np.ones((1, 1)), np.zeros((1, 1))), np.log(2))
    near(keras.losses.Huber()(np.zeros((1, 1)), np.full((1, 1), 3.0)), 2.5)
    near(keras.losses.CTC()(np.ones((1, 1), int), np.zeros((1, 3, 2), np.float32)), -np.log(6 / 8))


@rows.works("Optimizers")
def optimizers() -> None:
    names = ("SGD", "AdamW", "Lion", "Adafactor", "Lamb", "Nadam", "Adadelta", "Muon", "Ftrl", "RMSprop")
    assert all(hasattr(keras.optimizers, name) for name in names)
    w = keras.Variable([1.0])
    keras.optimizers.Adam(0.1).apply([np.asarray([3.0])], [w])
    near(w, [0.9])


@rows.lacks("L-BFGS", "an optimizer gets derivatives, and no function to ask again")
def lbfgs() -> None:
    assert not [name for name in dir(keras.optimizers) if "bfgs" in name.lower()]


@rows.works("Schedules of the rate")
def schedules() -> None:
    near(keras.optimizers.schedules.CosineDecay(1.0, 2)(1), 0.5)
    assert callable(keras.callbacks.ReduceLROnPlateau)


@rows.works("Clipping")
def clipping() -> None:
    w = keras.Variable([0.0, 0.0])
    keras.optimizers.SGD(1.0, global_clipnorm=1.0).apply([np.asarray([6.0, 8.0])], [w])
    near(w, [-0.6, -0.8])


@rows.works("Groups of weights")
def groups() -> None:
    model = keras.Sequential([keras.Input((1,)), layers.Dense(1, name="slow"), layers.Dense(1, name="fast")])
    chosen = keras.optimizers.OptimizerMap(keras.optimizers.SGD(0.5), {".*slow.*": keras.optimizers.SGD(0.1)})
    before = [w.numpy() for w in model.trainable_weights]
    optimizer = keras.optimizers.MultiOptimizer(chosen)
    optimizer.apply([np.ones(w.shape) for w in before], model.trainable_weights)
    moved = [float((b - w.numpy()).sum()) for b, w in zip(before, model.trainable_weights, strict=True)]
    near(moved, [0.1, 0.1, 0.5, 0.5])


@rows.works("Averages of weights")
def averages() -> None:
    w = keras.Variable([0.0])
    optimizer = keras.optimizers.SGD(1.0, use_ema=True, ema_momentum=0.5)
    for delta in (-2.0, 2.0):
        optimizer.apply([np.asarray([delta])], [w])
    optimizer.finalize_variable_values([w])
    near(w, [1.0])
    averaged = line(optimizer=keras.optimizers.SGD(0.1, use_ema=True))
    fit(averaged, 2, keras.callbacks.SwapEMAWeights())
    plain = line(optimizer=keras.optimizers.SGD(0.1))
    fit(plain, 2)
    assert abs(averaged.get_weights()[0] - plain.get_weights()[0]).max() > 1e-3


@rows.works("Metrics that are merged over batches")
def metrics() -> None:
    accuracy = keras.metrics.Accuracy()
    accuracy.update_state([1, 0, 1], [1, 0, 0])
    accuracy.update_state([1], [1])
    near(accuracy.result(), 0.75)


# -- data and the loop --------------------------------------------------------------------------------


class Fours(keras.utils.PyDataset):
    """Batches of four."""

    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        return IN[4 * i : 4 * i + 4], OUT[4 * i : 4 * i + 4]


@rows.works("Sets of examples, batches, splits by a seed")
def batches() -> None:  # split_dataset makes data of TensorFlow
    model = line()
    model.fit(Fours(), epochs=2, verbose=0)
    assert model.optimizer.iterations == 4 and issubclass(Fours, utils.PyDataset)


@rows.works("Batches made by worker processes")
def workers() -> None:
    def losses(rate: float, data: keras.utils.PyDataset) -> float:
        model = line(optimizer=keras.optimizers.SGD(rate))
        return float(model.fit(data, verbose=0, shuffle=False).history["loss"][0])

    def two() -> keras.utils.PyDataset:
        return Fours(workers=2, use_multiprocessing=True)

    near(losses(0.0, Fours()), losses(0.0, two()))
    assert abs(losses(0.1, Fours()) - losses(0.1, two())) > 0.01  # the order is another one


@rows.works("Samplers, lengths, padding")
def samplers() -> None:  # padding; `sample_weight=` weighs a loss, and no sampler draws by weights
    near(keras.utils.pad_sequences([[1, 1, 1], [1]], padding="post"), [[1, 1, 1], [1, 0, 0]])


@rows.by_hand("Tables, CSV, frames")
def tables() -> None:  # FeatureSpace encodes columns that are read already
    lines = ["a,b,y", "1,2,3", "4,5,9"]
    read = list(csv.DictReader(lines))
    columns = {name: np.asarray([float(row[name]) for row in read]) for name in "aby"}
    near(columns["y"], [3.0, 9.0])
    assert not [name for name in dir(keras.utils) if "csv" in name or "frame" in name]


@rows.works("Images: files, changes by chance")
def images() -> None:
    with tempfile.TemporaryDirectory() as folder:
        keras.utils.save_img(f"{folder}/a.png", np.full((4, 4, 3), 7.0), scale=False)
        image = utils.img_to_array(utils.load_img(f"{folder}/a.png"))
    assert keras.layers.RandomCrop(3, 3)(image[None], training=True).shape == (1, 3, 3, 3)
    near(layers.RandomFlip(seed=0)(image, training=True), image)


@rows.works("Tokenizers")
def tokens() -> None:  # of KerasHub
    tokenizer = keras_hub.tokenizers.WordPieceTokenizer(["[UNK]", "a", "tree"])
    near(tokenizer("a tree of"), [1, 2, 0])


@rows.works("The loop")
def whole_loop() -> None:
    model = line()
    keras.Model.fit(model, IN, OUT, epochs=400, verbose=0)
    near(model.predict(np.asarray([[3.0]]), verbose=0), [[6.0]], 0.1)


@rows.works("Early stop, the best weights")
def early_stop() -> None:
    stop = keras.callbacks.EarlyStopping(monitor="loss", patience=1, min_delta=1e9)
    with tempfile.TemporaryDirectory() as folder:
        best = keras.callbacks.ModelCheckpoint(f"{folder}/best.keras", "loss", save_best_only=True)
        assert len(fit(line(), 9, stop, best)) == 2 and Path(folder, "best.keras").is_file()


class Killed(keras.callbacks.Callback):
    """An error in the third epoch."""

    def on_epoch_begin(self, epoch: int, logs: object = None) -> None:
        if epoch == 2:
            raise KeyboardInterrupt


@rows.works("Killed and resumed with the same bits")
def resumed() -> None:  # only where batches are not shuffled
    agree = []
    for shuffle in (False, True):
        whole = fit(line(), 4, shuffle=shuffle)
        with tempfile.TemporaryDirectory() as folder:
            with refuses(KeyboardInterrupt):
                fit(line(), 4, keras.callbacks.BackupAndRestore(folder), Killed(), shuffle=shuffle)
            rest = fit(line(), 4, keras.callbacks.BackupAndRestore(folder), shuffle=shuffle)
        assert len(rest) == 2
        agree.append(rest == whole[2:])
    assert agree == [True, False]


@rows.works("Several batches a step")
def accumulated() -> None:
    w = keras.Variable([0.0])
    optimizer = keras.optimizers.SGD(1.0, gradient_accumulation_steps=2)
    for delta in (1.0, 3.0):
        optimizer.apply([np.asarray([delta])], [w])
    near(w, [-2.0])


@rows.works("Curves and logs")
def logs() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fit(line(), 1, keras.callbacks.TensorBoard(folder), keras.callbacks.CSVLogger(f"{folder}/log.csv"))
        assert list(Path(folder).rglob("events.*")) and Path(folder, "log.csv").is_file()


@rows.lacks("A step that fails changes nothing", "variables that were assigned before the error stay so")
def transaction() -> None:
    a, b = keras.Variable(np.zeros(2)), keras.Variable(np.zeros(2))
    with refuses(TypeError, ValueError):
        keras.optimizers.SGD(1.0).apply([np.ones(2), np.ones(3)], [a, b])
    near(a, [-1.0, -1.0])


@rows.works("Where a NaN began")
def not_a_number() -> None:  # without the place
    losses = fit(line(optimizer=keras.optimizers.SGD(1e30)), 9, keras.callbacks.TerminateOnNaN())
    assert len(losses) < 9


# -- how it runs --------------------------------------------------------------------------------------


@rows.works("Compilation")
def compiled() -> None:
    assert fit(line(jit_compile=True)) == fit(line(jit_compile=True))


@rows.works("Networks that depend on computed values")
def dynamic() -> None:  # by its backend
    near(jax.jit(jax.grad(lambda x: keras.ops.cond(x > 0, lambda: x * x, lambda: -x)))(3.0), 6.0)


rows.absent("Dynamic batching: trees of any shape in one batch", "a model is traced for one structure")


@rows.works("Less memory by computing again")
def recomputed() -> None:
    part = keras.remat(lambda x: ops.sin(ops.sin(x)))
    assert "remat" in str(jax.make_jaxpr(jax.grad(part))(1.0))


@rows.works("Mixed precision")
def mixed() -> None:
    policy = keras.mixed_precision.DTypePolicy("mixed_bfloat16")
    layer = layers.Dense(2, dtype=policy)
    assert layer(X).dtype == "bfloat16" and layer.kernel.dtype == "float32"


rows.not_run("GPU", "no device here; its backend's documentation has it")
rows.not_run("TPU", "no device here; JAX's documentation has it")


@rows.works("One step by many processes")
def processes() -> None:  # many devices of one process here
    alone = fit(line())
    keras.distribution.set_distribution(keras.distribution.DataParallel())
    try:
        near(fit(line()), alone)
    finally:
        keras.distribution.set_distribution(None)


@rows.works("Parts of a model elsewhere")
def parts() -> None:
    mesh = keras.distribution.DeviceMesh((1, 2), ["batch", "model"], keras.distribution.list_devices())
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*kernel"] = (None, "model")
    keras.distribution.set_distribution(keras.distribution.ModelParallel(layout_map=layout))
    try:
        layer = layers.Dense(4)
        layer.build((None, 2))
        assert [shard.data.shape for shard in layer.kernel.value.addressable_shards] == [(2, 2)] * 2
    finally:
        keras.distribution.set_distribution(None)


rows.not_run("Requests that are answered together", "programs of their own, such as TensorFlow Serving")


@rows.works("Export to other runtimes")
def exported() -> None:  # by TensorFlow
    with tempfile.TemporaryDirectory() as folder:
        keras.Model.export(line(), folder, verbose=False)
        assert Path(folder, "saved_model.pb").is_file()


rows.not_run("Weights from PyTorch", "KerasHub converts what Hugging Face has, which is a download")


@rows.works("Arrays exchanged without a copy")
def exchange() -> None:  # by its backend
    x = ops.arange(64)
    assert np.from_dlpack(x).ctypes.data == x.unsafe_buffer_pointer()


@rows.lacks("asyncio", "tensors and models are not awaitable")
def awaited() -> None:
    assert not inspect.isawaitable(ops.ones(1)) and not inspect.isawaitable(line())


# -- checking and looking -----------------------------------------------------------------------------


@rows.lacks(
    "Shapes, before the program runs", "a checker sees no type of a shape; layers refuse when they are called"
)
def shapes() -> None:
    with refuses(ValueError):
        line()(np.ones((2, 3)))


@rows.lacks("Element types and devices, before the program runs", "types are texts, known when it runs")
def element_types() -> None:
    assert isinstance(layers.Dense(1).dtype, str)


@rows.works("Shapes of a whole model without data")
def whole_shapes() -> None:  # Model.summary shows them
    model = keras.Sequential([keras.Input((7,)), layers.Dense(5)])
    assert model.output_shape == (None, 5) and callable(model.summary)


@rows.lacks("Derivatives against differences", "derivatives are its backend's, and so are checks of them")
def differences() -> None:
    lacks_names(keras, "testing", "gradcheck", "check_grads")


rows.absent("Tests of types", "it has no types to test")


@rows.works("Where the time goes")
def profiled() -> None:  # by its backend
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        fit(line())
    assert not Path(folder).exists()


@rows.works("A picture of the graph")
def picture() -> None:
    assert "Dense" in keras.utils.model_to_dot(line()).to_string() and callable(utils.plot_model)


@rows.lacks(
    "What is installed, and what of it is wrong", "it has a version, and nothing that looks at its backend"
)
def installed() -> None:
    assert keras.__version__
    lacks_names(keras, "doctor", "show_versions", "print_environment_info")
    lacks_names(keras.utils, "collect_env", "show_versions")
