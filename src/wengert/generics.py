"""Type variables with defaults, which `typing` has from Python 3.13 on, without what `typing_extensions` loads besides.

Knows: how a generic that is given fewer types than it has variables gets the defaults of the others.
Refuses to know: which variables there are.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar
elif sys.version_info >= (3, 13):
    from typing import TypeVar
else:
    import typing

    class _Filled:
        """The method of a variable that `typing` asks for missing types, as Python 3.13 defines it."""

        def __init__(self, variable: Any) -> None:
            self._variable = variable

        def __call__(self, alias: Any, given: Any) -> Any:
            missing = alias.__parameters__.index(self._variable) == len(given)
            return (*given, self._variable.__default__) if missing else given

    def TypeVar(name: str, *constraints: Any, **options: Any) -> Any:  # the name of what it stands for
        """`typing.TypeVar`, whose `default` stands in the place of a type that is not given."""
        has_default, default = "default" in options, options.pop("default", None)
        made = typing.TypeVar(name, *constraints, **options)
        made.__module__ = sys._getframe(1).f_globals["__name__"]
        if has_default:
            made.__default__, made.__typing_prepare_subst__ = default, _Filled(made)
        return made


__all__ = ["TypeVar"]
