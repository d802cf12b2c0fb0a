"""Dynamic batching: many expressions, or one with many like parts, run as one program over rows.

Knows: the way of a region. `executor` asks `cache` for its schedule; `traversal` makes a `region` of its nodes,
`grouping` puts like nodes into launches, `schedule` lays rows into tables; `execution` runs it, launch by launch, each
by a `kernel`, and `report` says what ran together.
Refuses to know: any logic.
"""
