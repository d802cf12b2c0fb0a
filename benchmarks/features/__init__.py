"""Features beside other libraries: a small program for each cell of `docs/comparison.md`.

Knows: nothing.
Refuses to know: everything that its modules know.
"""
