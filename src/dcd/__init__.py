"""Causal discovery by decoupling: from a table of measurements to the causal graph behind it.

    table -> data -> kernels -> decoupling -> dependence -> boundary -> construction -> discovery

>>> import dcd
>>> data = dcd.datasets.load_sachs()
>>> model = dcd.DCD().fit(data.frame)
>>> dcd.metrics.compare(data.cpdag, model.cpdag_).skeleton_shd < 17
True
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# NumPy, pandas and scikit-learn take a second or two to import: `dcd --help` does without. The public names,
# listed in dcd/public.py, are imported when the first of them is asked for.
if TYPE_CHECKING:
    from dcd.public import *  # noqa: F403
    from dcd.public import __all__ as __all__
else:

    def __getattr__(name: str) -> Any:
        if not name.startswith("__") or name == "__all__":  # tools ask every module for other such names
            public = import_module("dcd.public")
            if hasattr(public, name):
                return getattr(public, name)
        raise AttributeError(f"module 'dcd' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*globals(), *import_module("dcd.public").__all__])
