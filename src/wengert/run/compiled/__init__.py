"""Plans: structures that come back often, as straight-line programs.

Knows: when a structure has earned a program, how a run is traced into one, how branches that do the same are stacked,
what lies between binds, and how a program finds its inputs again. Its ways in: `plans.Plans` for whole structures,
`segment.Segments` for what lies between binds, `segment.CellLoops` for calls of cells.
Refuses to know: what expressions mean. The interpreter says that, and takes over wherever a program cannot go on.
"""
