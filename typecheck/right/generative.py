"""Right programs: models that generate, compare, or act, and losses of papers. No checker refuses a line."""

from collections.abc import Callable
from typing import Any, NewType

import numpy as np

import wengert as wg
from wengert import nn
from wengert.nn import Linear
from wengert.plugins import Adam, LearningRate

Batch = NewType("Batch", int)
Loss = wg.ArrayLayer[tuple[()]]


class Settings(Adam, LearningRate):
    """Adam with a learning rate."""


settings = Settings(learning_rate=1e-3)
chance = np.random.default_rng(0)
data = chance.standard_normal((4, 16)).astype(np.float32)
other = chance.standard_normal((5, 16)).astype(np.float32)
labels = np.array([0, 1, 0, 1])


def port_autoencoder() -> Loss:
    encode, decode = Linear.make(settings, 16, 4, seed=0), Linear.make(settings, 4, 16, seed=1)
    x = wg.literal(data, Batch, 16)
    return wg.mean(wg.square(decode(wg.tanh(encode(x))) - x))


def port_variational_autoencoder() -> Loss:
    encode, decode = Linear.make(settings, 16, 8, seed=0), Linear.make(settings, 4, 16, seed=1)
    x = wg.literal(data, Batch, 16)
    mu, log_variance = wg.split(encode(x), 2, axis=1)
    noise = chance.standard_normal(mu.shape).astype(np.float32)
    z = mu + wg.exp(0.5 * log_variance) * wg.literal(noise, *mu.shape)
    divergence = -0.5 * wg.mean(1.0 + log_variance - wg.square(mu) - wg.exp(log_variance))
    return wg.mean(wg.square(decode(z) - x)) + divergence


def port_generative_adversarial() -> Loss:
    generator, critic = Linear.make(settings, 4, 16, seed=0), Linear.make(settings, 16, 1, seed=1)
    fake = generator(wg.literal(chance.standard_normal((4, 4)).astype(np.float32), Batch, 4))
    real = wg.literal(data, Batch, 16)
    return wg.mean(wg.softplus(-critic(real))) + wg.mean(wg.softplus(critic(fake)))


def port_contrastive() -> Loss:
    embed = Linear.make(settings, 16, 8, seed=0)
    a = embed(wg.literal(data, Batch, 16))
    b = embed(wg.literal(data[::-1].copy(), Batch, 16))
    unit = a / wg.sqrt(wg.sum(wg.square(a), axis=1, keepdims=True) + 1e-6)
    return wg.cross_entropy(unit @ wg.permute_dims(b, (1, 0)) / 0.1, np.arange(4))


def port_triplet() -> Loss:
    embed = Linear.make(settings, 16, 8, seed=0)
    anchor, near, far = (embed(wg.literal(data)) for _ in range(3))
    gap = wg.sum(wg.square(anchor - near), axis=1) - wg.sum(wg.square(anchor - far), axis=1)
    return wg.mean(wg.relu(gap + 1.0))


def port_pairwise_distances() -> Loss:
    rows = wg.expand_dims(wg.literal(data, 4, 16), axis=1)
    columns = wg.literal(other, 5, 16)
    return wg.mean(wg.sum(wg.square(rows - columns), axis=2))


def port_distances_within() -> Loss:
    x = wg.literal(data, Batch, 16)
    return wg.mean(wg.sum(wg.square(wg.expand_dims(x, axis=1) - x), axis=2))


def port_mixture_density() -> Loss:
    head = Linear.make(settings, 16, 9, seed=0)
    weight, centre, spread = wg.split(head(wg.literal(data, Batch, 16)), 3, axis=1)
    y = wg.literal(data[:, :1], Batch, 1)
    errors = wg.square((y - centre) * wg.exp(-spread)) * -0.5 - spread
    return -wg.mean(wg.logsumexp(wg.log_softmax(weight) + errors, axis=1))


def port_policy_gradient() -> Loss:
    policy = Linear.make(settings, 16, 2, seed=0)
    rewards = np.array([1.0, 0.5, -1.0, 0.0], np.float32)
    surprise = wg.cross_entropy(policy(wg.literal(data, Batch, 16)), labels, reduction="none")
    return wg.mean(surprise * wg.literal(rewards, Batch))


def port_actor_critic() -> Loss:
    body, actor, critic = (Linear.make(settings, a, b, seed=a) for a, b in ((16, 8), (8, 2), (8, 1)))
    h = wg.tanh(body(wg.literal(data, Batch, 16)))
    value = wg.squeeze(critic(h), axis=1)
    returns = wg.literal(np.ones(4, np.float32), Batch)
    advantage = returns - wg.stop_gradient(value)
    surprise = wg.cross_entropy(actor(h), labels, reduction="none")
    return wg.mean(surprise * advantage) + 0.5 * wg.mean(wg.square(returns - value))


def port_double_q() -> Loss:
    online, target = Linear.make(settings, 16, 2, seed=0), Linear.make(settings, 16, 2, seed=1)
    x = wg.literal(data, Batch, 16)
    best = wg.max(wg.stop_gradient(target(x)), axis=1)
    chosen = wg.squeeze(wg.take_along_axis(online(x), labels[:, None], axis=1), axis=1)
    return wg.mean(wg.square(chosen - (0.9 * best + 1.0)))


def huber(x: wg.ArrayLayer) -> wg.ArrayLayer:
    """Squares of small errors, absolute values of large ones."""
    size = wg.abs(x)
    return wg.where(wg.less(size, 1.0), 0.5 * wg.square(x), size - 0.5)


def port_huber() -> Loss:
    layer = Linear.make(settings, 16, 1, seed=0)
    return wg.mean(huber(layer(wg.literal(data, Batch, 16)) - 1.0))


def port_focal() -> Loss:
    layer = Linear.make(settings, 16, 2, seed=0)
    surprise = wg.cross_entropy(layer(wg.literal(data, Batch, 16)), labels, reduction="none")
    return wg.mean(wg.square(1.0 - wg.exp(-surprise)) * surprise)


def port_label_smoothing() -> Loss:
    layer = Linear.make(settings, 16, 2, seed=0)
    logits = layer(wg.literal(data, Batch, 16))
    return 0.9 * wg.cross_entropy(logits, labels) - 0.1 * wg.mean(wg.log_softmax(logits))


def port_distillation() -> Loss:
    teacher, student = Linear.make(settings, 16, 2, seed=0), Linear.make(settings, 16, 2, seed=1)
    x = wg.literal(data, Batch, 16)
    soft = wg.softmax(wg.stop_gradient(teacher(x)) / 2.0)
    return -wg.mean(wg.sum(soft * wg.log_softmax(student(x) / 2.0), axis=1))


def port_mixture_of_experts() -> Loss:
    gate = Linear.make(settings, 16, 3, seed=0)
    experts = [Linear.make(settings, 16, 8, seed=i) for i in range(1, 4)]
    x = wg.literal(data, Batch, 16)
    outputs = wg.stack([expert(x) for expert in experts], axis=1)
    return wg.mean(wg.sum(outputs * wg.expand_dims(wg.softmax(gate(x)), axis=2), axis=1))


def port_graph_convolution() -> Loss:
    adjacency = wg.literal(np.eye(4, dtype=np.float32), Batch, Batch)
    first, last = Linear.make(settings, 16, 8, seed=0), Linear.make(settings, 8, 2, seed=1)
    h = wg.relu(adjacency @ first(wg.literal(data, Batch, 16)))
    return wg.cross_entropy(adjacency @ last(h), labels)


def port_normalizing_flow() -> Loss:
    scale, shift = Linear.make(settings, 8, 8, seed=0), Linear.make(settings, 8, 8, seed=1)
    x = wg.literal(data, Batch, 16)
    left, right = x[:, :8], x[:, 8:]
    s = wg.tanh(scale(left))
    z = wg.concat([left, right * wg.exp(s) + shift(left)], axis=1)
    return wg.mean(0.5 * wg.sum(wg.square(z), axis=1) - wg.sum(s, axis=1))


def port_denoising_diffusion() -> Loss:
    model = Linear.make(settings, 16, 16, seed=0)
    noise = chance.standard_normal((4, 16)).astype(np.float32)
    level = wg.literal(np.full((4, 1), 0.3, np.float32), Batch, 1)
    x, e = wg.literal(data, Batch, 16), wg.literal(noise, Batch, 16)
    return wg.mean(wg.square(model(wg.sqrt(1.0 - level) * x + wg.sqrt(level) * e) - e))


def port_activations_as_values() -> Loss:
    activations: list[Callable[[wg.ArrayLayer], wg.ArrayLayer]] = [wg.relu, wg.tanh, wg.gelu]
    h: wg.ArrayLayer = wg.literal(data)
    for activation in activations:
        h = activation(h)
    return wg.mean(h)


def port_gradient_penalty() -> Loss:
    critic = Linear.make(settings, 16, 1, seed=0)
    loss = wg.mean(wg.square(critic(wg.literal(data, Batch, 16))))
    (slope,) = wg.gradients(loss, (critic.weight,)).layers
    return loss + 0.1 * wg.sum(wg.square(slope))


def port_natural_step() -> Loss:
    layer = Linear.make(settings, 16, 1, seed=0)
    loss = wg.mean(wg.square(layer(wg.literal(data, Batch, 16))))
    weight, bias = wg.gradients(loss, list(nn.weights(layer).values())).run()
    size = np.linalg.norm(weight) + np.linalg.norm(bias)
    steps = {"weight": -0.1 * weight / size, "bias": -0.1 * bias / size}
    return loss + float(steps["weight"].sum()) * 0.0


def port_helper_without_shapes() -> Loss:
    def normalised(x: wg.ArrayExpression) -> wg.ArrayLayer:
        return wg.divide(
            wg.subtract(x, wg.mean(x, axis=-1, keepdims=True)), wg.std(x, axis=-1, keepdims=True)
        )

    layer = Linear.make(settings, 16, 2, seed=0)
    return wg.cross_entropy(layer(normalised(data)), labels)


def port_training_loop() -> Loss:
    layer = Linear.make(settings, 16, 2, seed=0)
    history: list[float] = []
    x = wg.literal(data, Batch, 16)
    loss = wg.cross_entropy(layer(x), labels)
    for _ in range(2):
        history.append(float(loss.train().run()))
        loss = wg.cross_entropy(layer(x), labels)
    shown: dict[str, Any] = {"loss": history[-1], "accuracy": 0.5}
    return loss * (1.0 if shown else 0.0)
