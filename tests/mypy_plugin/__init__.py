"""Tests of the mypy plugin, on small programs that one run of mypy checks together."""
