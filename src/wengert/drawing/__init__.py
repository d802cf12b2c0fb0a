"""The graph of an expression as a drawing: Mermaid and DOT text, and a picture that needs no other program.

Knows: the public names.
Refuses to know: how a graph is laid out and written.
"""

from __future__ import annotations

from wengert.drawing.dot import dot
from wengert.drawing.mermaid import mermaid
from wengert.drawing.picture import Drawable
from wengert.drawing.svg import shown, svg

__all__ = ["Drawable", "dot", "mermaid", "shown", "svg"]
