"""Public programs, ported: each beside its reference.

Knows: nothing.
Refuses to know: anything.
"""
