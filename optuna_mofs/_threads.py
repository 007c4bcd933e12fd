"""One thread for small matrices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one core.

    The matrices of a proposal are small. Where the cores are busy with models, threads that wait
    for each other take twenty times as long as one alone.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all that is loaded, which takes a while
