"""Messages between a process and its worker: a line of JSON, followed by an array if there is one.

Nothing is pickled, so messages cannot carry code.
"""

from __future__ import annotations

import json
from typing import IO, Any

import numpy as np

from dcd.runtime.array_types import FloatArray


def send(stream: IO[bytes], message: dict[str, Any], values: FloatArray | None = None) -> None:
    """Write one message."""
    shape = None if values is None else values.shape
    stream.write(json.dumps({**message, "shape": shape}).encode() + b"\n")
    if values is not None:
        stream.write(np.ascontiguousarray(values, dtype=np.float64).tobytes())
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], FloatArray | None] | None:
    """Read one message; None at the end of the stream, even within a message."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message: dict[str, Any] = json.loads(line)
    shape = message.pop("shape")
    if shape is None:
        return message, None
    n_bytes = 8 * int(np.prod(shape))
    payload = stream.read(n_bytes)
    if len(payload) < n_bytes:
        return None
    return message, np.frombuffer(payload).reshape(shape).copy()
