"""Dynamic batching: many expressions, or one with many like parts, run as one program over rows.

Knows: nothing; its modules do.
Refuses to know: any logic.
"""
