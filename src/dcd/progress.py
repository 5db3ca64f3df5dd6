"""Progress bars, where somebody watches."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from tqdm.auto import tqdm


def watched(items: Iterable[Any], label: str | None, total: int | None = None) -> Iterable[Any]:
    """Items with a progress bar, if it has a label and somebody watches."""
    someone_watches = sys.stderr.isatty() or "ipykernel" in sys.modules
    bar: Iterable[Any] = tqdm(items, total=total, desc=label, disable=label is None or not someone_watches)
    return bar
