"""Programs: what executors compile, as equations over abstract values.

Knows: the form of a program, how operations become one, how it is differentiated, simplified, placed and written out.
Refuses to know: executors, weights and their optimizers.
"""
