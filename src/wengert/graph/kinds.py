"""The run-time type of an expression: column, shape, dtype, device, and role in a backward pass.

Knows: that two expressions of one kind are interchangeable to every rule, so kinds are interned and compared
by identity, and rules are looked up by them; which part of an annotation states a column, a shape, a dtype, as in
`ArrayLayer[tuple[Literal[2]]]`, and that what it leaves open is open in the kind.
Refuses to know: operations, nodes, values.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import IntEnum
from typing import Any, Final, Literal, Protocol, get_args, get_origin
from weakref import WeakValueDictionary

from wengert.arrays import FLOAT32, FLOAT64, Float32, HostArray, dtype_from
from wengert.errors import NotDifferentiableError

Shape = tuple[int, ...]
DTypeLike = Any  # numpy's dtype object or None; a kind compares it, prints it, and asks its size
DeviceLike = Any  # "cpu" or cupy's device object; a kind only compares it and prints it


class Column(IntEnum):
    """The sort of a value: the rows of the table of differentiable types, and what is not differentiated."""

    NUMBER = 0  # a Python number: takes the other operand's dtype
    DOUBLE = 1
    FLOAT = 2
    ARRAY = 3
    MASK = 4  # booleans, made by comparisons
    INDEX = 5  # integers, for take, getitem and labels
    OTHER = 6  # data of a registered type


class Role(IntEnum):
    """The part of an expression in a backward pass."""

    LITERAL = 0  # the operand is the value
    CONSTANT = 1  # a node with no weight below: its value is computed, and no delta: it would reach nobody
    LAYER = 2
    WEIGHT = 3
    OWN = 4  # a weight of a class with a `forward` of its own: an operand is the layer which that gives
    BUFFER = 5  # data that runs change and no optimizer does: a constant to every rule but that of an update


class Family(Protocol):
    """Whose parts layers have: equal where the settings are the same."""

    def layer_class(self, column: Column) -> type[Any]:  # Any: by the column
        """The class of the layers of a column."""
        ...

    def layer_of(self, computed: Any) -> Any:  # Any: nodes, which stand above
        """The layer for what an operation on expressions of this family computes."""
        ...


class Kind:
    """One interned combination; make it with `kind`. `shape` or `dtype` is None where only the run tells."""

    __slots__ = (
        *("__weakref__", "column", "device", "dtype", "family", "known", "nbytes", "role", "shape"),
        "trainable",
    )

    column: Final[Column]
    shape: Final[Shape | None]
    dtype: Final[DTypeLike]
    device: Final[DeviceLike]
    role: Final[Role]
    family: Final[Family | None]  # of what is built with this expression, and of no meaning in a run
    trainable: Final[bool]
    known: Final[bool]
    nbytes: Final[float]  # of an array; 0 of a number, inf where only the run tells

    def __init__(
        self,
        column: Column,
        shape: Shape | None,
        dtype: DTypeLike,
        device: DeviceLike,
        role: Role,
        family: Family | None,
    ) -> None:
        self.column = column
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.role = role
        self.family = family
        self.trainable = Role.LAYER <= role <= Role.OWN
        self.known = column is Column.NUMBER or (
            dtype is not None and (shape is not None or column is Column.OTHER)
        )
        self.nbytes = _bytes_of(column, shape, dtype)

    def __reduce__(self) -> tuple[object, ...]:
        return kind, (self.column, self.shape, self.dtype, self.device, self.role, self.family)

    def __repr__(self) -> str:
        return f"Kind({self.column.name.lower()} {self.text()} {self.role.name.lower()})"

    def text(self) -> str:
        """Shape and dtype as messages show them, `?` for what only the run tells."""
        if self.column is Column.NUMBER:
            return "a Python number"
        if self.column is Column.OTHER:
            return getattr(self.dtype, "__name__", "a registered type")
        shape = "?" if self.shape is None else str(self.shape)
        return f"{shape} {'?' if self.dtype is None else self.dtype}"


_WIDEST: Final = 8  # bytes of an element whose type is open


def _bytes_of(column: Column, shape: Shape | None, dtype: DTypeLike) -> float:
    if column is Column.OTHER or shape is None:
        return math.inf
    size = getattr(dtype, "itemsize", _WIDEST)
    # of a class a descriptor
    return math.prod(shape) * (size if isinstance(size, int) else _WIDEST) if shape else 0


_interned: WeakValueDictionary[tuple[object, ...], Kind] = WeakValueDictionary()


def kind(
    column: Column,
    shape: Shape | None = (),
    dtype: DTypeLike = None,
    device: DeviceLike = "cpu",
    role: Role = Role.LITERAL,
    family: Family | None = None,
) -> Kind:
    """The one `Kind` with these six values."""
    key = (column, shape, dtype, str(device), role, family)
    found = _interned.get(key)
    if found is None:
        found = _interned.setdefault(key, Kind(column, shape, dtype, device, role, family))
    return found


def device_among(kinds: Iterable[Kind]) -> DeviceLike:
    """The device of all arrays among some kinds; "cpu" if that is the host, None if there are several.

    Indices of the host, and its numbers, go with those of any device.
    """
    arrays = [of for of in kinds if of.column is not Column.INDEX and (of.shape or of.device != "cpu")]
    first = next((of.device for of in arrays), "cpu")
    return first if all(of.device == first for of in arrays) else None


def with_role(of: Kind, role: Role) -> Kind:
    """A kind of equal data in another role."""
    return of if of.role is role else kind(of.column, of.shape, of.dtype, of.device, role, of.family)


def with_family(of: Kind, family: Family | None) -> Kind:
    """A kind of equal data of another family, or of none."""
    return of if of.family is family else kind(of.column, of.shape, of.dtype, of.device, of.role, family)


NUMBER: Final = kind(Column.NUMBER)


# The class of the layers of a column, entered by its module; None: of nodes that make no layer. Any: by their columns
CLASSES: Final[dict[Column | None, type[Any]]] = {}


def layer_class(of: Kind) -> type[Any]:
    """The class of a layer with this kind."""
    try:
        return CLASSES[of.column] if of.family is None else of.family.layer_class(of.column)
    except KeyError:
        raise NotDifferentiableError(f"{of.column.name.lower()} data make no layer") from None


def refused_dtype(dtype: object, use: str = "float32 or float64, as in x.astype(numpy.float32)") -> str:
    """The end of a message about an element type that no expression has."""
    return f"{dtype!s:.60} is not differentiable; use {use}"


def shape_from(annotation: object) -> Shape | None:
    """The shape that `tuple[Literal[2], Literal[3]]` states; None unless every dimension is a literal."""
    if get_origin(annotation) is not tuple:
        return None
    dims = get_args(annotation)
    sizes = [get_args(d)[0] for d in dims if get_origin(d) is Literal]
    return tuple(sizes) if len(sizes) == len(dims) else None


def kind_from_data(data: object, role: Role) -> Kind:
    """The kind of expressions whose Data is annotated as `data`."""
    if data is float:
        return kind(Column.DOUBLE, (), FLOAT64, "cpu", role)
    if data is Float32:
        return kind(Column.FLOAT, (), FLOAT32, "cpu", role)
    origin = get_origin(data) or data
    if origin is HostArray or getattr(origin, "__name__", "") in ("Array", "ndarray"):
        return array_from(get_args(data), role)
    stated = isinstance(origin, type) and origin is not Any
    return kind(Column.OTHER, None, origin if stated else None, "cpu", role)


def array_from(arguments: tuple[Any, ...], role: Role) -> Kind:  # Any: the arguments of a typing alias
    """The kind that the parameters `[Shape, DType, Device]` of an array type state."""
    shape = shape_from(arguments[0]) if arguments else None
    dtype = dtype_from(arguments[1]) if len(arguments) > 1 else None
    return kind(Column.ARRAY, shape, dtype, "cpu", role)
