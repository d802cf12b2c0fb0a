"""`Parallel`: independent parts of an expression on several threads.

Knows: the thread pool and its schedules, loops and speculative starts on it, and the tuning of both.
Refuses to know: what expressions mean; results, their order and their sums are those of one thread.
"""
