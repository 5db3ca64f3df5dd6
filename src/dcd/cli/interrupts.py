"""Ctrl-C with several processes: one line, not a traceback from each."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def silent_children(*, really: bool) -> Iterator[None]:
    """Keep processes that are started meanwhile from writing to standard error, if `really`.

    Ctrl-C goes to every process of a terminal, and a worker that is just starting answers with a traceback.
    Processes inherit file 2, so that one leads nowhere here, and our own standard error goes around it.
    """
    if not really or not _is_file_2(sys.stderr):
        yield
        return
    ours = sys.stderr
    ours.flush()
    true = os.dup(2)
    with (
        open(os.devnull, "wb") as nowhere,
        open(os.dup(true), "w", encoding=ours.encoding, errors=ours.errors, buffering=1) as around,
    ):
        os.dup2(nowhere.fileno(), 2)
        sys.stderr = around
        try:
            yield
        finally:
            around.flush()
            sys.stderr = ours
            os.dup2(true, 2)
            os.close(true)


def _is_file_2(stream: object) -> bool:
    try:
        return stream.fileno() == 2  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
