"""Parts of layers: what plugins add to the layers that operations make of a settings object's weights.

Knows: that an expression is of the family of the first operand which has one; the classes of a family's layers, made
of the merged part and the class of a column; that a part which overrides `forward` stands between what an operation
computes and everybody who reads it.
Refuses to know: operations, and who runs a layer.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from wengert.control import Do
from wengert.differentiable import Tape
from wengert.errors import PluginError
from wengert.graph.bundle import bundled
from wengert.graph.kinds import CLASSES, Column, with_family
from wengert.graph.node import Expression, Node, asked, new_node
from wengert.graph.operand import external_like
from wengert.plugins.parts import merged_part
from wengert.site import user_position

_SIDES: Final = ("add", "sub", "mul", "truediv", "pow", "mod", "matmul")
_OTHERS: Final = ("pos", "neg", "abs", "getitem", "lt", "le", "gt", "ge", "eq", "ne")
_INSTEAD: Final = "override `forward`, whose tape every run and every operation reads"
REFUSED: Final = {  # what has a second way to be asked, which would not obey: what to write instead
    **dict.fromkeys(
        [f"__{name}__" for name in (*_OTHERS, *_SIDES, *(f"r{name}" for name in _SIDES))],
        f"the function of the same operation, and a layer on the left, would not obey it; {_INSTEAD}, or give an "
        f"executor other `rules` for the operation",
    ),
    **dict.fromkeys(
        ["predict", "train", "as_do", "__await__"],
        f"`wengert.predict`, `wengert.train` and every layer above would not obey it; {_INSTEAD}",
    ),
    **dict.fromkeys(
        ["data", "shape", "dtype", "device", "kind"],
        f"runs, optimizers and files read what is stored; {_INSTEAD}, and give another view of it another name",
    ),
    "backward": "an expression has none, its delta goes to its tape; override `forward`, as in\n"
    "    @property\n"
    "    def forward(self) -> Do[Tape[Any, Any]]:\n"
    "        return super().forward.map(lambda tape: Tape(tape.data, lambda d: tape.backward(d.map(...))))",
}


def check_part(part: type, base: type, what: str) -> None:
    """`PluginError` for a part that overrides what not every run would obey."""
    for owner in part.__mro__:
        if owner in (object, base) or issubclass(owner, Expression) or issubclass(Expression, owner):
            continue
        for name in (*vars(owner), *vars(owner).get("__annotations__", ())):
            if name in REFUSED:
                raise PluginError(
                    f"{owner.__name__}.{name}: a part of a {what} cannot decide this: {REFUSED[name]}\n"
                    f"  at {user_position()}"
                )
            if name == "forward" and not isinstance(vars(owner).get(name), property):
                raise PluginError(
                    f"{owner.__name__}.forward is no property; put @property above its `def`, so that it is the "
                    f"Do of the tape\n  at {user_position()}"
                )


class LayerPart:
    """The base of what plugins add to layers: methods, operators, and another `forward`.

    Operations on weights of the settings, and on layers of these, give layers with the parts of all their plugins; of
    several operands the first that has parts decides. `self.settings` are the settings.
    A part that overrides the property `forward` decides what a layer gives in every run: `super().forward` is the tape
    of the part to the right, in the end of what the operation computes. What is computed of `self` there has the
    methods, and is not changed again. Such a layer costs what a value of a registered type does: it is a bind, which
    plans run up to, and the call of a cell with one in it is what its function gives, node by node.
    PluginError at the class statement for what could be asked in a second way that would not obey, as of `WeightPart`.

    >>> import wengert as wg
    >>> from wengert.plugins import SGD, Plugin
    >>> class Piping(LayerPart):
    ...     def __or__(self, function):
    ...         return function(self)
    >>> class Pipes(Plugin):
    ...     layer = Piping
    >>> class Settings(Pipes, SGD): ...
    >>> w = Settings(learning_rate=1.0).double_weight(3.0)
    >>> (w * 2.0 | wg.square | wg.negative).predict().run()
    -36.0
    """

    __slots__ = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        check_part(cls, LayerPart, "layer")
        if vars(cls).get("__slots__"):
            raise PluginError(
                f"{cls.__name__}.__slots__: a layer has slots of its own, and cannot have others; leave them out\n"
                f"  at {user_position()}"
            )

    if TYPE_CHECKING:  # of the class of the column, to the right of all parts
        settings: Any  # Any: a part fits every settings class that has it

        @property
        def forward(self) -> Do[Tape[Any, Any]]: ...  # Any: parts fit layers of every column


_NO_TAPE: Final = frozenset({Column.MASK, Column.INDEX})  # what is computed, and no layer


class Stage(Enum):
    """The place of an expression about the `forward` of a part."""

    WHOLE = "everybody reads it"
    COMPUTED = "what the operation computes, and the part reads"
    WITHIN = "what the part computes of that"


class Layers:
    """The family of one settings object's weights, and of what is computed of them."""

    __slots__ = ("_of", "part", "stage")

    def __init__(self, settings: object, stage: Stage = Stage.WHOLE) -> None:
        self._of = ref(settings)  # the weights below every layer hold them, and kinds are kept in tables
        self.part = merged_part(type(settings), "layer", LayerPart)
        self.stage = stage

    @property
    def settings(self) -> object:
        """The settings."""
        return self._of()

    @property
    def changes(self) -> bool:
        """True if a part decides what a layer gives."""
        return any("forward" in vars(owner) for owner in self.part.__mro__ if owner is not LayerPart)

    def at(self, stage: Stage) -> Layers:
        """This family at another stage."""
        return Layers(self.settings, stage)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layers) and (self._of, self.stage) == (other._of, other.stage)

    def __hash__(self) -> int:
        return hash((self._of, self.stage))

    def __reduce__(self) -> tuple[object, ...]:
        return Layers, (self.settings, self.stage)

    def layer_class(self, column: Column) -> type[Any]:  # Any: by the column
        """The class of the layers of a column; KeyError for one that makes none."""
        base = CLASSES[column]
        if column in _NO_TAPE:
            return base
        made: dict[tuple[type, bool], type] = vars(self.part).get("_with", {})
        key = (base, self.changes and self.stage is not Stage.COMPUTED)
        if key not in made:
            bases: tuple[type, ...] = (self.part, _Dressed, base)
            if key[1]:
                bases = (_Whole, *bases)
            made[key] = type(base.__name__, bases, {"__module__": base.__module__, "__slots__": ()})
            self.part._with = made  # type: ignore[attr-defined] # on the part, so that it dies with the settings class
        return made[key]

    def layer_of(self, computed: Node) -> Node:
        """The layer for what an operation on expressions of this family computes."""
        if computed.kind.column in _NO_TAPE:
            return computed
        if not self.changes:
            return self._dressed(computed, self)
        if self.stage is not Stage.WHOLE:
            return self._dressed(computed, self.at(Stage.WITHIN))
        node = self._dressed(computed, self.at(Stage.COMPUTED))
        return external_like(node, with_family(node.kind, self))

    def _dressed(self, node: Node, family: Layers) -> Node:
        cls, of = family.layer_class(node.kind.column), with_family(node.kind, family)
        return new_node(cls, of, node.signature, node.operands, node.code, node.offset)


class _Dressed(Node):
    """Between the parts and the class of a column."""

    __slots__ = ()

    @property
    def settings(self) -> object:
        """The settings whose weights are below."""
        family: Any = self.kind.family  # Any: that of a layer with parts is a `Layers`
        return family.settings

    def __reduce__(self) -> Any:  # Any: as in `bundled`
        return bundled(self)


class _Whole(Node):
    """To the left of the parts: what everybody reads of a layer is the tape of the run, which the parts have made."""

    __slots__ = ()

    @property
    def forward(self) -> Do[Tape[Any, Any]]:  # Any: of every column
        """The tape of this layer, made by whoever runs the `Do`."""
        return asked("forward", self)


def family_of(settings: object) -> Layers | None:
    """The family of the weights of a settings object; None where no plugin has a part of layers."""
    family = Layers(settings)
    return None if family.part is LayerPart else family
