"""Beyond one process: messages to others, and who carries them.

Knows: the public names of this package.
Refuses to know: operations and layers.
"""

from __future__ import annotations

from wengert.cluster.clusters import Cluster
from wengert.cluster.distributed import Distributed
from wengert.cluster.engine import Engine, PlacedObject, SharedRef
from wengert.cluster.links import Handle
from wengert.cluster.local import Fault, Local, Message
from wengert.cluster.nodes import Node, Nodes
from wengert.cluster.remote import Remote

__all__ = [
    "Cluster",
    "Distributed",
    "Engine",
    "Fault",
    "Handle",
    "Local",
    "Message",
    "Node",
    "Nodes",
    "PlacedObject",
    "Remote",
    "SharedRef",
]
