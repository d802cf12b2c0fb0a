"""Types of answers to questions about a structure: a model with data, or with derivatives, where it has expressions.

Knows: that such an answer has the parts of the structure, by name and by place.
Refuses to know: of which type each part is, for no annotation can say it; the mypy plugin does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias

from wengert.generics import TypeVar

M_co = TypeVar("M_co", covariant=True)
X_co = TypeVar("X_co", covariant=True)


class Structure(Protocol):
    """A frozen dataclass of expressions."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # Any: as typeshed declares it


class NamedFields(Protocol):
    """A NamedTuple."""

    def _asdict(self) -> dict[str, Any]: ...  # Any: as typeshed declares it


Inner: TypeAlias = tuple[Any, ...] | Structure  # Any: expressions of every type


if TYPE_CHECKING:

    class Answer(Generic[M_co]):
        """A structure of another kind, with the parts of the structure `M_co`."""

        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]  # Any: as above

        # Any: the mypy plugin says of which type; an attribute that the structure lacks it refuses
        def __getattr__(self, name: str) -> Any: ...
        def __getitem__(self, index: int) -> Any: ...
        def __iter__(self) -> Iterator[Any]: ...
        def __len__(self) -> int: ...
        def __eq__(self, other: object) -> bool: ...  # it may equal one of the structure's class

else:

    class Answer(Generic[M_co]):
        """For annotations: when a program runs, an answer is of the structure's own class."""


class Deltas(Answer[M_co]):
    """A model with derivatives, which are data, in the places of expressions: what `gradients` gives."""


class Values(Answer[M_co]):
    """A NamedTuple or a dataclass with data in the places of expressions: what `predict` and `also=` give."""


class Jacobians(Answer[M_co], Generic[M_co, X_co]):
    """A model with the Jacobian of an `X_co` in the place of each expression: what `jacobian` gives."""


class JacobianLayers(Answer[M_co], Generic[M_co, X_co]):
    """Jacobians as expressions: the `layers` of what `jacobian` gives."""
