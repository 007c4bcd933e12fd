"""Fuzz tests: odd input gives a result, or one error that this package raises on purpose.

In the test suite each entry point gets a few cases. ``python -m tools.fuzz`` runs 2,000 of each;
the cases depend on nothing but the number of them.
"""
