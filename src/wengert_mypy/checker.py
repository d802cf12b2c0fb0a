"""Everything of mypy that is no documented plugin interface, in one place, tested on each supported version.

Knows: where mypy keeps what the plugin reads.
Refuses to know: what it is read for.
"""

from __future__ import annotations

from mypy.maptype import map_instance_to_supertype
from mypy.types import Instance


def as_base(t: Instance, fullname: str) -> Instance | None:
    """`t` seen as the base class of that name, with its arguments; None where it is no base."""
    for info in t.type.mro:
        if info.fullname == fullname:
            return map_instance_to_supertype(t, info)
    return None
