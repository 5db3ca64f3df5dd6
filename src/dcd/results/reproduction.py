"""How to reproduce a fit: versions, parameters as plain data, and Python code."""

from __future__ import annotations

import inspect
import platform
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import scipy

from dcd.estimators.checkpoints import WITHOUT_EFFECT
from dcd.independence.association import PartialAssociation
from dcd.results.model import Data, Reproduction, Resampling
from dcd.runtime.exact_floats import exact_floats
from dcd.runtime.version import __version__
from dcd.search.whole_graph import WholeGraph

_READERS: dict[str, tuple[str, dict[str, str]]] = {  # of pandas, by the suffix of a file
    ".csv": ("read_csv", {}),
    ".tsv": ("read_csv", {"sep": "\t"}),
    ".parquet": ("read_parquet", {}),
    ".feather": ("read_feather", {}),
    ".xlsx": ("read_excel", {}),
}
_DEFAULTS = {"test": PartialAssociation, "search": WholeGraph}


def reproduction_of(
    model: Any,
    data: Data,
    resampling: Resampling | None,
    *,
    title: str | None,
    rows: bool,
    source: str | None = None,
) -> Reproduction:
    """How to reproduce a fitted model; `source` is the name of the file of its table."""
    chosen = {
        name: value for name, value in model.get_params(deep=False).items() if name not in WITHOUT_EFFECT
    }
    used = {name: strategy() for name, strategy in _DEFAULTS.items() if chosen.get(name, "") is None}
    seed = chosen.get("random_state")
    return Reproduction(
        versions={
            "dcd": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
        estimator=type(model).__name__,
        parameters=_plain(chosen | used),
        seed=int(seed) if isinstance(seed, (int, np.integer)) else None,
        code=_code(model, chosen, data, resampling, {"title": title, "source": source, "rows": rows}),
    )


def _plain(value: Any) -> Any:
    """A parameter as a JSON value; a strategy as a dict with its class."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else repr(float(value))
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    if hasattr(value, "to_dict"):
        return {"class": type(value).__name__, **_plain(value.to_dict())}
    if is_dataclass(value) and not isinstance(value, type):
        return {"class": type(value).__name__, **_plain(_fields(value))}
    return f"{type(value).__name__} (not kept)"


def _fields(value: Any) -> dict[str, Any]:
    """The fields of a dataclass; empty for anything else."""
    if not is_dataclass(value) or isinstance(value, type):
        return {}
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _code(
    model: Any,
    chosen: dict[str, Any],
    data: Data,
    resampling: Resampling | None,
    shown: dict[str, str | bool | None],
) -> str:
    signature = inspect.signature(type(model)).parameters
    defaults = {name: signature[name].default for name in chosen if name in signature}
    changed = {
        name: chosen[name]
        for name, default in defaults.items()
        if type(chosen[name]) is not type(default) or bool(chosen[name] != default)
    }
    arguments = ", ".join(f"{name}={_python(value)}" for name, value in changed.items())
    weights = ", sample_weight=weights" if data.weighted else ""
    weights += ", groups=groups" if data.n_groups is not None else ""
    stability = "" if resampling is None else ", stability=stability"
    options = "".join(f", {name}={value!r}" for name, value in shown.items() if value not in (None, True))
    return "\n".join(
        [
            "import dcd",
            "import pandas",
            *_imports(changed.values()),
            "",
            *_reading(data, shown["source"]),
            *(["weights = ...  # one number for each row"] if data.weighted else []),
            *(["groups = ...  # the group of each row"] if data.n_groups is not None else []),
            f"dcd.results.fingerprint(table)  # {data.fingerprint}",
            f"model = dcd.{type(model).__name__}({arguments}).fit(table{weights})",
            *([] if resampling is None else [f"stability = {_refits(resampling, weights)}"]),
            f"result = dcd.summarise(model{stability}{options})",
            'dcd.report.write(result, "report.html")',
        ]
    )


def _reading(data: Data, source: str | bool | None) -> list[str]:
    """Lines that read the table, with the columns of the fit: those used, and those that the fit dropped."""
    name = str(source or "table.csv")
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    if suffix not in _READERS:
        name, suffix = "table.csv", ".csv"
    reader, options = _READERS[suffix]
    if reader == "read_csv":
        options = {**options, **exact_floats(pandas.__version__)}
    arguments = "".join(f", {key}={value!r}" for key, value in options.items())
    columns = [*(column.name for column in data.columns), *data.dropped]
    return [
        f"table = pandas.{reader}({name!r}{arguments})  # or however it was read",
        f"table = table[{columns!r}]  # without the columns left out",
    ]


def _refits(resampling: Resampling, weights: str) -> str:
    """The call that drew and fitted the resamples."""
    seed = "...  # not kept" if resampling.seed is None else str(resampling.seed)
    fraction = "" if resampling.fraction is None else f", fraction={resampling.fraction!r}"
    return (
        f"dcd.stability(\n    model, table, n_resamples={resampling.n_resamples + resampling.n_failed}, "
        f"scheme={resampling.scheme!r}{fraction}{weights},\n    random_state={seed}\n)"
    )


def _python(value: Any) -> str:
    """The expression that makes a parameter."""
    if is_dataclass(value) and hasattr(value, "from_dict") and hasattr(value, "to_dict"):
        return f"dcd.{type(value).__name__}.from_dict({_plain(value.to_dict())!r})"
    if is_dataclass(value) and not isinstance(value, type):
        shown = (f"{name}={_python(item)}" for name, item in _fields(value).items())
        return f"{_name(type(value))}({', '.join(shown)})"
    if isinstance(value, np.random.Generator):
        return "...  # a generator, whose state was not stored"
    if _is_strategy(value):
        return f"{_name(type(value))}(...)"
    return repr(_plain(value))


def _is_strategy(value: Any) -> bool:
    return any(callable(getattr(value, method, None)) for method in ("bind", "learn"))


def _name(kind: type) -> str:
    """The name of a class in the code: within `dcd`, or in its own module."""
    if not kind.__module__.startswith("dcd."):
        return kind.__name__
    return f"dcd.weights.{kind.__name__}" if ".weights." in kind.__module__ else f"dcd.{kind.__name__}"


def _imports(values: Iterable[Any]) -> list[str]:
    """The imports of user-defined strategies."""
    lines: list[str] = []
    for value in values:
        if _is_strategy(value) and not type(value).__module__.startswith("dcd."):
            lines.append(f"from {type(value).__module__} import {type(value).__name__}")
        lines += _imports(_fields(value).values())
    return lines
