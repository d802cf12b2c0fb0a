"""Shapes with dimensions that may have names, and the rules of the operations for them.

Knows: dimensions as polynomials, which of them are equal, and the words that say why shapes do not fit.
Refuses to know: mypy, arrays, and which operation asks. `wengert` and its mypy plugin, which do not import each other,
both import it.
"""
