"""Weights of messages are as many as nodes, and messages as many as edges.

Source: written for this table.
"""

from typing import Literal, NewType

import numpy as np

import wengert as wg
from wengert.plugins import SGD

settings = SGD(learning_rate=0.1)
Nodes = NewType("Nodes", int)
Edges = NewType("Edges", int)


def messages(
    sent: wg.ArrayLayer[tuple[Edges, Literal[16]]],
    of_nodes: wg.ArrayLayer[tuple[Nodes, Literal[1]]],
    of_edges: wg.ArrayLayer[tuple[Edges, Literal[1]]],
) -> wg.ArrayLayer[tuple[Edges, Literal[16]]]:
    print(of_nodes.shape, of_edges.shape)
    # bug: return sent * of_nodes
    return sent * of_edges


sent, nodes, edges = np.ones((5, 16), np.float32), np.ones((4, 1), np.float32), np.ones((5, 1), np.float32)
print(messages(wg.literal(sent, Edges, 16), wg.literal(nodes, Nodes, 1), wg.literal(edges, Edges, 1)).shape)
