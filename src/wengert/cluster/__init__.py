"""Beyond one process: messages to others, and who carries them.

Knows: the public names of this package.
Refuses to know: operations and layers.
"""

from __future__ import annotations

from wengert.cluster.engine import Engine, Place, Ref
from wengert.cluster.local import Fault, Local, Message

__all__ = ["Engine", "Fault", "Local", "Message", "Place", "Ref"]
