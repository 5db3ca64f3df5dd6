"""Bytes that are changed at random."""

from __future__ import annotations

import random


def mutated(r: random.Random, content: bytes) -> bytes:
    """Some bytes changed, removed, repeated or moved."""
    changed = bytearray(content)
    for _ in range(r.choice([1, 1, 2, 5, 20])):
        at, to = sorted(r.choices(range(len(changed) + 1), k=2))
        to = min(to, at + r.choice([1, 2, 8, 64, 4096]))
        kind = r.choice(["flip", "flip", "set", "cut", "end", "repeat", "random", "move"])
        if kind == "flip" and at < len(changed):
            changed[at] ^= 1 << r.randint(0, 7)
        elif kind == "set" and at < len(changed):
            changed[at] = r.choice([0, 255, 10, 13, 34, 44, 60, 127])
        elif kind == "cut":
            del changed[at:to]
        elif kind == "end":
            del changed[at:]
        elif kind == "repeat":
            changed[at:at] = changed[at:to] * r.choice([1, 3])
        elif kind == "random":
            changed[at:to] = r.randbytes(to - at)
        else:
            part = changed[at:to]
            del changed[at:to]
            place = r.randint(0, len(changed))
            changed[place:place] = part
    return bytes(changed)
