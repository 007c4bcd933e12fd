"""The tables and figures of the five papers: ``python -m benchmarks.papers.NAME``."""
