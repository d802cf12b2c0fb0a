"""Constants and operators as the text of a program has them, and the function that a text is.

Knows: which functions Python writes as signs, and which constants as they are; that all others have names.
Refuses to know: what lines say, and where results lie.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from wengert.arrays import freeze, is_array

SIGNS: Final[Mapping[Callable[..., Any], str]] = {  # Any: functions of numbers and arrays
    operator.add: "+",
    operator.sub: "-",
    operator.mul: "*",
    operator.truediv: "/",
    operator.pow: "**",
}
TEXT: Final = "<string>"  # the name of the file of all texts
_PLAIN: Final = (int, bool, str, type(None))


class Constants:
    """The functions and values that a text mentions; its code runs in `scope`, where they have their names.

    >>> constants = Constants()
    >>> constants.text(1), constants.text(len), constants.text(2.5), constants.text(len)
    ('(1)', 'k0', 'k1', 'k0')
    >>> constants.scope
    {'k0': <built-in function len>, 'k1': 2.5}
    """

    def __init__(self) -> None:
        self.scope: dict[str, Any] = {}  # Any: functions and constants
        self._named: dict[int, tuple[str, object]] = {}

    def text(self, x: object) -> str:
        """A constant as it is, or its name."""
        return f"({x!r})" if type(x) in _PLAIN else self.name(x)

    def name(self, x: object) -> str:
        """The name of a constant; an array is copied, as others may write to theirs."""
        # it has to live as long as its id counts
        name, _ = self._named.setdefault(id(x), (f"k{len(self._named)}", x))
        if name not in self.scope:
            self.scope[name] = freeze(x) if is_array(x) else x
        return name


def executed(source: str, scope: Mapping[str, Any], file: str = TEXT) -> dict[str, Any]:
    """The names that a source defines, beside those of `scope`; `file` is what errors call it.

    Whoever takes a function out of it removes its name: in its own globals the function would be a cycle.
    """
    exec(compile(source, file, "exec"), names := dict(scope))
    return names


def tuple_text(texts: Iterable[str]) -> str:
    """The source of a tuple.

    >>> tuple_text(["a", "b"])
    '(a, b, )'
    """
    return f"({''.join(f'{text}, ' for text in texts)})"


def function_of(lines: Sequence[str], scope: dict[str, Any], module: str) -> Any:  # Any: a function
    """The function that these lines define; errors and sites take it for code of the module, not of a person.

    >>> function_of(["def twice(x):", " return by * x"], {"by": 2}, __name__)(21)
    42
    """
    name = lines[0].removeprefix("def ").partition("(")[0]
    return executed("\n".join(lines), {**scope, "__name__": module}).pop(name)


def function_text(name: str, arguments: Sequence[str], lines: Iterable[str]) -> str:
    """The source of a function."""
    return f"def {name}({', '.join(arguments)}):\n" + "".join(f" {line}\n" for line in lines if line)
