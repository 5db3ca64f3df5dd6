"""A digest of texts and numbers, to recognise them again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt


def digest(parts: Iterable[str | bytes | npt.NDArray[Any]]) -> str:
    """SHA-256 of the parts in their order, in hexadecimal.

    A text contributes its number of bytes (8 bytes, little-endian) and its bytes in UTF-8, so that no two
    lists of texts are confused. Arrays count as little-endian doubles, with one form of zero and one of NaN.
    """
    sha = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            encoded = part.encode("utf-8", "surrogatepass")
            sha.update(len(encoded).to_bytes(8, "little") + encoded)
        elif isinstance(part, bytes):
            sha.update(part)
        else:
            numbers = np.asarray(part, dtype="<f8") + 0.0  # no -0.0
            numbers[np.isnan(numbers)] = np.nan  # one of its many bit patterns
            sha.update(numbers.tobytes())
    return sha.hexdigest()
