"""`Parallel`: what does not depend on each other, on several threads.

Knows: crews of threads and their jobs, programs in tasks, binds that go on at the same time, and when that pays.
Refuses to know: what expressions mean; results, their order and their sums are those of one thread.
"""
