"""matplotlib, loaded when a plot needs it, and the colours that plots share."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"


def import_pyplot() -> Any:
    """`matplotlib.pyplot`, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'dcd[plot]'") from error
    return plt
