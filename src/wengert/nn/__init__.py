"""Ready-made networks: frozen values that hold weights, called like functions.

Knows: their public names.
Refuses to know: interpreters' insides. Layers are made of public operations and of what settings make.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wengert.elsewhere import unnamed
from wengert.models import buffers, freeze, map_weights, replace, tie, weights, with_settings
from wengert.nn import init
from wengert.nn.attention import KeyValues, MultiHeadAttention
from wengert.nn.blocks import MLP, AvgPool2d, Flatten, GlobalAvgPool, MaxPool2d, Residual
from wengert.nn.convolution import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
)
from wengert.nn.dropout import Dropout
from wengert.nn.embedding import Embedding, EmbeddingBag
from wengert.nn.linear import Bilinear, Linear
from wengert.nn.normalization import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from wengert.nn.positions import causal_mask, rotary, sinusoidal_positions
from wengert.nn.recurrent import GRUCell, LSTMCell, RNNCell
from wengert.nn.seeded import Seeded, Seeds
from wengert.nn.sequential import Sequential
from wengert.nn.summary import summary
from wengert.nn.transformer import (
    TransformerDecoder,
    TransformerDecoderLayer,
    TransformerEncoder,
    TransformerEncoderLayer,
)
from wengert.nn.tree import TreeLSTM
from wengert.nn.unrolled import GRU, LSTM, RNN

__all__ = [
    "GRU",
    "LSTM",
    "MLP",
    "RNN",
    "AvgPool2d",
    "BatchNorm",
    "Bilinear",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "Dropout",
    "Embedding",
    "EmbeddingBag",
    "Flatten",
    "GRUCell",
    "GlobalAvgPool",
    "GroupNorm",
    "InstanceNorm",
    "KeyValues",
    "LSTMCell",
    "LayerNorm",
    "Linear",
    "MaxPool2d",
    "MultiHeadAttention",
    "RMSNorm",
    "RNNCell",
    "Residual",
    "Seeded",
    "Seeds",
    "Sequential",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "TreeLSTM",
    "buffers",
    "causal_mask",
    "freeze",
    "init",
    "map_weights",
    "replace",
    "rotary",
    "sinusoidal_positions",
    "summary",
    "tie",
    "weights",
    "with_settings",
]

if not TYPE_CHECKING:  # or a checker would take every name for one that is there

    def __getattr__(name: str) -> object:
        """The error for a name that another library's package has, with what to write."""
        raise unnamed(__name__, name)
