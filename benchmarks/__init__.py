"""How fast Wengert is, as ratios to its peers: `python -m benchmarks`.

Knows: the workloads, and how to measure them honestly.
Refuses to know: any result; a figure is printed only after it has been measured.
"""
