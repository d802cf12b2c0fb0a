"""Attributes, keywords and calls that other libraries have, and what to write here in place of each.

Knows: names of PyTorch, JAX and numpy, those of modules too, and that every checker has to refuse attributes with the
advice: each is a descriptor that belongs to no expression and no layer, and the type that it asks for has the advice in
its name.
Refuses to know: what expressions and layers are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NoReturn, cast, final, get_args

from wengert.errors import ArgumentError
from wengert.generics import TypeVar
from wengert.site import user_position

Advice = TypeVar("Advice", bound=str)


@final
class Write(Generic[Advice]):
    """The advice as a type without values: checkers say that they expected it."""

    def __new__(cls) -> NoReturn:
        raise TypeError("a piece of advice in a type has no values")


class Elsewhere(Generic[Advice]):
    """An attribute of another library, `name = Elsewhere[Literal["what to write here"]]()`.

    One for each name, because a `__getattr__` would make every attribute of every node slower by a third.
    """

    if TYPE_CHECKING:
        _advice: type  # that holds it
    else:  # what `typing` makes of so many types would take a thirtieth of what importing Wengert takes

        def __class_getitem__(cls, advice):
            return partial(cls, advice) if get_args(advice) else super().__class_getitem__(advice)

        def __init__(self, advice):
            self._advice = advice

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    # Any: or a call of what is refused would be a second error
    def __get__(self, instance: Write[Advice] | None, owner: type, /) -> Any:
        if instance is None:
            return self
        what = repr(instance) if isinstance(instance, TensorNames) else type(instance).__name__
        (advice,) = get_args(self._advice)
        raise AttributeError(
            f"{what} has no {self.name}: write {advice}\n  at {user_position()}", name=self.name, obj=instance
        )


class TensorNames:
    """Names of arrays, as a base of expressions."""

    __slots__ = ()

    T = Elsewhere[Literal["permute_dims(x, (1, 0))"]]()
    argmax = Elsewhere[Literal["argmax(x, axis=...)"]]()
    astype = Elsewhere[Literal["astype(x, dtype)"]]()
    backward = Elsewhere[Literal["loss.train().run(), or gradients(loss, (w,)).run()"]]()
    clone = Elsewhere[Literal["x: no expression changes"]]()
    contiguous = Elsewhere[Literal["x: an expression has no layout"]]()
    detach = Elsewhere[Literal["stop_gradient(x)"]]()
    dim = Elsewhere[Literal["len(x.shape)"]]()
    dot = Elsewhere[Literal["matmul(a, b), or a @ b"]]()
    exp = Elsewhere[Literal["exp(x)"]]()
    flatten = Elsewhere[Literal["reshape(x, (x.shape[0], -1))"]]()
    grad = Elsewhere[Literal["gradients(loss, (w,)).run()"]]()
    item = Elsewhere[Literal["layer.predict().run()"]]()
    log = Elsewhere[Literal["log(x)"]]()
    mT = Elsewhere[Literal["permute_dims(x, axes)"]]()
    masked_fill = Elsewhere[Literal["where(mask, number, x)"]]()
    matmul = Elsewhere[Literal["matmul(a, b), or a @ b"]]()
    max = Elsewhere[Literal["max(x)"]]()
    mean = Elsewhere[Literal["mean(x)"]]()
    min = Elsewhere[Literal["min(x)"]]()
    mm = Elsewhere[Literal["matmul(a, b), or a @ b"]]()
    ndim = Elsewhere[Literal["len(x.shape)"]]()
    numpy = Elsewhere[Literal["layer.predict().run()"]]()
    permute = Elsewhere[Literal["permute_dims(x, axes)"]]()
    pow = Elsewhere[Literal["pow(x, y), or x ** y"]]()
    repeat = Elsewhere[Literal["concat([x] * n, axis=...)"]]()
    requires_grad = Elsewhere[Literal["stop_gradient(x), or a weight"]]()
    reshape = Elsewhere[Literal["reshape(x, shape)"]]()
    run = Elsewhere[Literal["layer.predict().run() or layer.train().run()"]]()
    size = Elsewhere[Literal["x.shape"]]()
    softmax = Elsewhere[Literal["softmax(x, axis=...)"]]()
    sqrt = Elsewhere[Literal["sqrt(x)"]]()
    squeeze = Elsewhere[Literal["squeeze(x, axis=...)"]]()
    std = Elsewhere[Literal["std(x)"]]()
    sum = Elsewhere[Literal["sum(x)"]]()
    t = Elsewhere[Literal["permute_dims(x, (1, 0))"]]()
    tolist = Elsewhere[Literal["layer.predict().run().tolist()"]]()
    transpose = Elsewhere[Literal["permute_dims(x, axes)"]]()
    unsqueeze = Elsewhere[Literal["expand_dims(x, axis=...)"]]()
    var = Elsewhere[Literal["var(x)"]]()
    view = Elsewhere[Literal["reshape(x, shape)"]]()
    if not TYPE_CHECKING:  # a weight has one
        data = Elsewhere[Literal["layer.predict().run() for its value"]]()


class ElsewhereMethod(Elsewhere[Advice]):
    """A method of another library's: refused where it is asked for, and for a checker no attribute of any type.

    As `forward` of a model one of type Any would make the model an expression for every function of expressions.
    """

    if TYPE_CHECKING:  # Any: a call of what is refused would be a second error

        def __get__(self, instance: Write[Advice] | None, owner: type, /) -> Callable[..., Any]: ...


class ModelNames:
    """Names of models, as a base of layers; sizes in the places of weights are refused with what to write."""

    __slots__ = ()
    if not TYPE_CHECKING:

        def __new__(cls, *given, **named):
            """Refuse `Linear(8, 16)`, whatever else is given, before Python counts the arguments."""
            if given and given[0].__class__ is int and hasattr(cls, "make"):
                of = signature(cls.make).parameters
                sizes = [x for x, p in of.items() if p.kind is Parameter.POSITIONAL_ONLY]
                made = ", ".join([*sizes, *["seed=0"] * ("seed" in of)])
                raise ArgumentError(
                    f"{cls.__name__} is put together from weights, got {given[0]}; "
                    f"write {cls.__name__}.make({made})\n  at {user_position()}"
                )
            return object.__new__(cls)

    cuda = Elsewhere[Literal["arrays of cupy: the device is theirs"]]()
    eval = Elsewhere[Literal["model(x), without a seed"]]()
    forward = ElsewhereMethod[Literal["model(x)"]]()
    load_state_dict = Elsewhere[Literal["saving.load(path, model)"]]()
    named_parameters = Elsewhere[Literal["nn.weights(model)"]]()
    parameters = Elsewhere[Literal["nn.weights(model)"]]()
    requires_grad_ = Elsewhere[Literal["nn.freeze(model)"]]()
    state_dict = Elsewhere[Literal["saving.save(path, model)"]]()
    to = Elsewhere[Literal["arrays of cupy: the device is theirs"]]()
    train = Elsewhere[Literal["model(x, seed=step), and loss.train().run()"]]()
    zero_grad = Elsewhere[Literal["nothing: each run has its own derivatives"]]()


F = TypeVar("F", bound=Callable[..., Any])  # Any: functions of every type


def along_one_axis(function: F) -> F:
    """A function of one operand and `axis` that says so where it is given another keyword."""
    default: int = (function.__kwdefaults__ or {})["axis"]
    name = function.__name__

    @functools.wraps(function)
    def public(x: Any, /, *more: Any, axis: int = default, **wrong: Any) -> Any:  # Any: typed by the function
        if more or wrong:
            raise misspelt(name, wrong, ("axis",), more)
        return function(x, axis=axis)

    return cast(F, public)


_ELSEWHERE: Final = {"dim": "axis", "keepdim": "keepdims", "dims": "axis"}


def misspelt(
    name: str, wrong: Mapping[str, object], known: Sequence[str], more: Sequence[object] = ()
) -> ArgumentError:
    """The refusal of keywords that an operation does not have, such as those of another library, and of options
    without their keywords, which are `more`.

    A function takes them by `**wrong`, which costs a call 0.03 us; a wrapper that catches Python's error costs 0.1 us.
    """
    if more:
        return _without_keywords(name, known, more)
    meant = [(_ELSEWHERE[x], x) for x in wrong if _ELSEWHERE.get(x) in known]
    said = " and ".join(f"`{right}`, not `{given}`" for right, given in meant)
    text = (
        f"the keyword is {said}"
        if meant
        else f"no keyword {next(iter(wrong))!r}; there are {', '.join(known)}"
    )
    return ArgumentError(f"{name}: {text}\n  at {user_position()}")


def _without_keywords(name: str, known: Sequence[str], given: Sequence[object]) -> ArgumentError:
    """The refusal of options that are told by their order."""
    if len(given) <= len(known) and all(isinstance(x, int | tuple | list | None) for x in given):
        options = ", ".join(f"{keyword}={x!r}" for keyword, x in zip(known, given, strict=False))
        text = f"options are keywords; write {name}(x, {options})"
    else:
        text = f"takes one operand, got {1 + len(given)}; its keywords: {', '.join(known)}"
    return ArgumentError(f"{name}: {text}\n  at {user_position()}")


def one_by_one(name: str, what: str, given: tuple[object, ...]) -> ArgumentError:
    """The refusal of numbers that are given one by one where a tuple of them is wanted."""
    numbers = ", ".join(map(repr, given))
    return ArgumentError(f"{name}: {what} is one tuple; write {name}(x, ({numbers}))\n  at {user_position()}")


_SETTINGS: Final = "settings make weights: write wengert.plugins.SGD(learning_rate=0.1).array_weight(array)"
PACKAGES: Final[Mapping[str, str]] = {  # what stands for whole modules, and for functions of programs
    "Module": "a model is any class or function; keep layers in attributes, and define __call__",
    "Parameter": _SETTINGS,
    "Variable": _SETTINGS,
    "compile": "nothing to write: a structure that comes back is compiled",
    "cuda": "write arrays of cupy: the device is theirs",
    "device": "write arrays of cupy: the device is theirs",
    "float32": "element types are numpy's; write numpy.float32",
    "float64": "element types are numpy's; write numpy.float64",
    "from_numpy": "arrays of numpy are expressions; pass the array itself",
    "functional": "its functions are wengert's, as in wengert.relu(x)",
    "grad": "write wengert.gradients(loss, (w,)).run()",
    "jit": "nothing to write: a structure that comes back is compiled",
    "layer_norm": "write wengert.nn.LayerNorm.make(settings, width)",
    "load": "write wengert.saving.load(path, model)",
    "manual_seed": "nothing is global: give seed= to what draws at random",
    "no_grad": "nothing to write: only train() and gradients() differentiate; layer.predict().run() computes",
    "optim": "optimizers are wengert.plugins",
    "rand": "write numpy.random.default_rng(seed)",
    "randn": "write numpy.random.default_rng(seed)",
    "save": "write wengert.saving.save(path, model)",
    "tensor": "write numpy.array(x, numpy.float32); arrays are expressions",
    "value_and_grad": "write wengert.gather(loss.predict(), wengert.gradients(loss, (w,))).run()",
    "vmap": "write the model for a batch; wengert.jacobian has all derivatives at once",
}
TENSORS: Final[Mapping[str, str]] = {
    "batch_norm": "write wengert.nn.BatchNorm.make(settings, channels)",
    "bmm": "write wengert.matmul",
    "cat": "write wengert.concat",
    "detach": "write wengert.stop_gradient",
    "embedding": "write wengert.take(table, indices), or wengert.nn.Embedding",
    "flatten": "write wengert.reshape(x, (x.shape[0], -1))",
    "linear": "write x @ weight + bias, or wengert.nn.Linear",
    "mm": "write wengert.matmul",
    "permute": "write wengert.permute_dims",
    "scatter": "write wengert.scatter_add",
    "unsqueeze": "write wengert.expand_dims",
    "view": "write wengert.reshape",
}
OF_NN: Final[Mapping[str, str]] = {
    **PACKAGES,
    "AdaptiveAvgPool2d": "write lambda x: wengert.adaptive_avg_pool2d(x, size)",
    "BCELoss": "write wengert.binary_cross_entropy",
    "BCEWithLogitsLoss": "write wengert.binary_cross_entropy_with_logits",
    "BatchNorm1d": "write BatchNorm, of any rank",
    "BatchNorm2d": "write BatchNorm, of any rank",
    "Conv": "write Conv2d",
    "Conv2D": "write Conv2d",
    "CrossEntropyLoss": "write wengert.cross_entropy",
    "Dense": "write Linear.make(settings, inputs, outputs, seed=0)",
    "Dropout2d": "write Dropout",
    "Identity": "write lambda x: x",
    "L1Loss": "write wengert.l1_loss",
    "MSELoss": "write wengert.mse_loss",
    "ModuleDict": "a model may hold layers in a dict",
    "ModuleList": "a model may hold layers in a list",
    "NLLLoss": "write wengert.nll_loss",
    "PixelShuffle": "write lambda x: wengert.pixel_shuffle(x, factor)",
    "SmoothL1Loss": "write wengert.smooth_l1_loss",
    "Transformer": "write TransformerEncoder and TransformerDecoder",
    "Upsample": "write lambda x: wengert.interpolate(x, size)",
    "ZeroPad2d": "write lambda x: wengert.pad(x, widths)",
    **{
        name: f"write wengert.{function}"
        for name, function in {
            "ELU": "elu",
            "GELU": "gelu",
            "LeakyReLU": "leaky_relu",
            "LogSoftmax": "log_softmax",
            "ReLU": "relu",
            "SiLU": "silu",
            "Sigmoid": "sigmoid",
            "Softmax": "softmax",
            "Softplus": "softplus",
            "Tanh": "tanh",
        }.items()
    },
}


def unnamed(module: str, name: str, said: Mapping[str, str] = OF_NN) -> AttributeError:
    """The error for a name that a module does not have, with what to write where another library has the name."""
    advice = said.get(name)
    return AttributeError(f"module '{module}' has no attribute '{name}'" + (f": {advice}" if advice else ""))
