"""Networks: what they compute, what they refuse, and what their types are worth at run time."""
