"""The base of expressions: immutable data with an identity, a kind, and no value.

Knows: the slots of layers and weights, and everything that a person may try to do with a layer as if it were
a value, each refused with advice.
Refuses to know: operations and operators' types, which `expressions` adds, and how anything is computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NoReturn, Protocol

from wengert.control import Do
from wengert.control.do import Question
from wengert.differentiable import Data_co, Delta_contra, Differentiable
from wengert.elsewhere import TensorNames
from wengert.errors import LazyError, ShapeError
from wengert.graph.kinds import CLASSES, DeviceLike, DTypeLike, Kind, Role, Shape
from wengert.graph.operation import Signature
from wengert.later import later
from wengert.site import position, user_position

next_serial: Final[Callable[[], int]] = itertools.count(1).__next__


def _refused(what: str, advice: str) -> Callable[..., NoReturn]:
    def refuse(self: Node, *others: object, **options: object) -> NoReturn:
        raise LazyError(lazy(what, self, advice))

    return refuse


def _refused_function(self: Expression, function: Callable[..., object], *others: object) -> NoReturn:
    """numpy's hook for its functions that are no ufuncs, such as `mean` and `concatenate`."""
    name = function.__name__
    raise LazyError(lazy(f"numpy.{name}", self, f"use `wengert.{name}` if there is one, {_VALUE}"))


def lazy(what: str, x: Expression, advice: str) -> str:
    """The text of a `LazyError`."""
    why = "its value now is its `.data`" if x.kind.role >= Role.WEIGHT else "it has no value before a run"
    return f"{what} of {x!r}, which is an expression: {why}; {advice}\n  at {user_position()}"


def _refused_format(self: Expression, form: str) -> str:
    if form:
        raise LazyError(lazy(f"the format {form!r}", self, "use `layer.predict().run()`"))
    return repr(self)


_SHOWN: Final = later("wengert.drawing", "shown")  # which stands floors above
_VALUE: Final = "or `layer.predict().run()` for its value"
_AWAITED: Final = "or `await` it and compare its value"


class Expression(TensorNames):
    """The base of layers, weights and masks."""

    __slots__ = ("__weakref__", "code", "kind", "offset")
    kind: Kind  # column, shape, dtype, device and role, interned
    code: CodeType | str  # the site as text, where the node came from another process
    offset: int

    # numpy's operators come to ours. `__array_ufunc__ = None` would be faster by 0.2 us a node, but then
    # `numpy.exp(layer)` gets an error of numpy's that says neither what nor where.
    __array_priority__: ClassVar[float] = 1e6

    @property
    def site(self) -> str:
        """`file:line` where the user built this expression."""
        return position(self.code, self.offset)

    @property
    def _shape(self) -> Shape:
        if self.kind.shape is None:
            raise ShapeError(
                f"the shape of {self!r} is known only in the run; state it in the annotation of the "
                f"@differentiable function, as in ArrayLayer[tuple[Literal[2], Literal[3]]]\n"
                f"  at {user_position()}"
            )
        return self.kind.shape

    @property
    def _dtype(self) -> DTypeLike:
        return self.kind.dtype

    @property
    def _device(self) -> DeviceLike:
        return self.kind.device

    if TYPE_CHECKING:

        def __format__(self, form: Literal[""], /) -> str: ...  # type: ignore[override] # no other has a meaning

    else:  # hidden: a visible one would make checkers accept what is refused here
        __bool__ = _refused(
            "the truth", "use `where(greater(layer, 0), ...)`, or `await` it and ask its value"
        )
        __len__ = _refused("the length", "use `layer.shape`")
        __iter__ = _refused("iteration", "index it, as in `layer[0]`")
        __contains__ = _refused("membership", "look into `layer.predict().run()`")
        __float__ = _refused("the float", "use `layer.predict().run()`")
        __int__ = _refused("the int", "use `layer.predict().run()`")
        __index__ = _refused("the index", "use `layer.predict().run()`")
        __array__ = _refused(
            "a numpy array", f"use functions of wengert, as in `wengert.exp(layer)`, {_VALUE}"
        )
        __array_function__ = _refused_function
        __format__ = _refused_format
        __lt__ = _refused("comparison", f"use `wengert.less(a, b)`, {_AWAITED}")
        __le__ = _refused("comparison", f"use `wengert.less_equal(a, b)`, {_AWAITED}")
        __gt__ = _refused("comparison", f"use `wengert.greater(a, b)`, {_AWAITED}")
        __ge__ = _refused("comparison", f"use `wengert.greater_equal(a, b)`, {_AWAITED}")
        __eq__ = _refused("comparison", "use `wengert.equal(a, b)`, or `is` for identity")
        __ne__ = _refused("comparison", "use `wengert.not_equal(a, b)`, or `is not` for identity")
        __hash__ = object.__hash__

    def _repr_svg_(self) -> str | None:
        """For Jupyter, beside the text: the graph below as a picture, if that is small."""
        picture: str | None = _SHOWN(self)
        return picture


class Foreign(Differentiable[Data_co, Delta_contra], Protocol):
    """A user's own class with `forward`: a layer is none, because it has no format but the empty one.

    Where a function takes layers and these by overloads, mypy answers `Any` if a layer's type fits both.
    """

    def __format__(self, form: str, /) -> str: ...


class Node(Expression):
    """An operation applied to operands, or a `Do` of a tape: what the interpreters order and run."""

    __slots__ = ("_block", "_kept", "examples", "operands", "serial", "signature")
    examples: Sequence[tuple[int, object]]  # of a column of a batch, a number and data for each operand
    _block: Any  # Any: what is below an expression that comes again in others; unset until then
    _kept: object  # what an interpreter remembers of an expression that is run again; unset until then
    signature: Signature
    # Any: expressions, frozen arrays, numbers, or one Do; the signature knows which
    operands: tuple[Any, ...]
    serial: int

    def __repr__(self) -> str:
        name = self.signature.operation.name
        return f"<{type(self).__name__} {name} {self.kind.text()}, built at {self.site}>"


CLASSES[None] = Node


def new_node(
    cls: type[Node],
    kind: Kind,
    signature: Signature,
    operands: tuple[Any, ...],
    code: CodeType | str,
    offset: int,
) -> Node:
    """A node; the hot paths of `operation` do the same in place."""
    node = object.__new__(cls)
    node.kind = kind
    node.signature = signature
    node.operands = operands
    node.serial = next_serial()
    node.code = code
    node.offset = offset
    return node


def asked(method: str, x: object) -> Do[Any]:  # Any: typed by the property or method that asks
    """The `Do` that leaves the meaning of `x` to whoever runs it: forward, value, predict or train."""
    if method == "train" and isinstance(x, Expression):
        check_scalar_loss(x, method)
    return Question(method, x)


def check_scalar_loss(x: Expression, who: str) -> None:
    """Refuse at the call a loss whose shape is known and is not `()`."""
    if x.kind.shape not in ((), None):
        raise ShapeError(
            f"{who}: a loss is a scalar, this one has shape {x.kind.shape}; "
            f"reduce it first, as in {who}(mean(loss))\n  {x!r}\n  at {user_position()}"
        )
