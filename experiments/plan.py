"""From a config to tasks: which setting, method and seed, and how many graphs of each."""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from dcd.evaluation.baselines import METHODS
from dcd.runtime.errors import InputError, suggest
from experiments import configs
from experiments.settings import Setting, Simulated

# The defaults of DCD were chosen on graphs with seeds below 100.
FIRST_SEED = 10_000
PAPER_METHODS = (
    "dcd",
    "pc-fisherz",
    "pc-e-fisherz",
    "pc-kcit",
    "pc-e-kcit",
    "ges",
    "icalingam",
    "directlingam",
    "notears",
    "grandag",
    "golem",
)
# Robust DCD with weights alone and with adjustment alone.
ROBUST_METHODS = ("robust-dcd", "robust-dcd-equal", "robust-dcd-always", "robust-dcd-unadjusted")
BRIDGES = ("pc-dcd", "rsl-dcd", "marvel-dcd")
# Graphs per cell by the cost of a fit: (up to 10 variables, more). The paper has 50 and 25 of each.
_GRAPHS = {"low": (50, 25), "kernel": (10, 3), "network": (3, 3)}


@dataclass(frozen=True)
class Experiment:
    """What a config file defines as `EXPERIMENT`.

    Attributes
    ----------
    title : one line for the top of the table.
    settings : where the data come from.
    methods : names in `dcd.baselines.METHODS`.
    axis : the field of the settings on the x-axis of a figure; None for tables alone.
    bars : draw bars with standard deviations instead of lines.
    graphs : graphs a cell for each cost, as (up to 10 variables, more).
    time_limit : seconds for one fit.
    """

    title: str
    settings: tuple[Setting, ...]
    methods: tuple[str, ...] = (*PAPER_METHODS, *ROBUST_METHODS)
    axis: str | None = None
    bars: bool = False
    graphs: dict[str, tuple[int, int]] | None = None
    time_limit: float = 3600.0

    def __post_init__(self) -> None:
        if self.axis is not None and not all(hasattr(setting, self.axis) for setting in self.settings):
            raise InputError("parameter 'axis'", f"{self.axis!r} is no field of the settings", "Try 'n'.")
        if self.axis is not None and not self.bars:
            others = sorted(varying_fields(self.settings) - {self.axis})
            if others:
                raise InputError(
                    "parameter 'axis'",
                    f"a line along {self.axis!r} cannot show that {', '.join(others)} varies too",
                    "Make an experiment of each, or leave axis out for tables alone.",
                )
        unknown = set(self.methods) - set(METHODS)
        if unknown:
            raise InputError("parameter 'methods'", f"{sorted(unknown)} are not methods", "See METHODS.")

    def n_graphs(self, setting: Setting, method: str, wanted: int | None = None) -> int:
        """How many graphs (or samples) of a setting a method gets: `wanted`, or as in the config."""
        small, large = (self.graphs or _GRAPHS)[METHODS[method].cost]
        count = wanted or (small if setting.d <= 10 else large)
        return min(count, setting.max_draws or count)


def varying_fields(settings: Sequence[Setting]) -> set[str]:
    """The names of the fields in which settings differ."""
    return {
        field.name
        for field in fields(settings[0])
        if len({getattr(setting, field.name) for setting in settings}) > 1
    }


@dataclass(frozen=True)
class Task:
    """One row to come."""

    setting: Setting
    method: str
    seed: int


def grid(**choices: Sequence[object]) -> tuple[Simulated, ...]:
    """Every combination of the given fields, the others at the paper's defaults."""
    combinations = itertools.product(*choices.values())
    return tuple(Simulated(**dict(zip(choices, values, strict=True))) for values in combinations)  # type: ignore[arg-type]


def experiment_names() -> list[str]:
    """The config files, by name."""
    return sorted(module.name for module in pkgutil.iter_modules(configs.__path__))


def load_experiment(name: str) -> Experiment:
    """The experiment that a config file defines."""
    names = experiment_names()
    if name not in names:
        raise InputError(f"experiment {name!r}", "has no config file", suggest(name, names))
    try:
        experiment: Experiment = importlib.import_module(f"experiments.configs.{name}").EXPERIMENT
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"file configs/{name}.py", str(error), "See 'a new setting' in experiments/README.md."
        ) from error
    return experiment


def tasks(
    experiment: Experiment, methods: Sequence[str] | None = None, graphs: int | None = None
) -> Iterator[Task]:
    """All tasks, one graph of every cell before the next, so that a run that is cut short is balanced."""
    chosen = [method for method in experiment.methods if methods is None or method in methods]
    counts = {
        (setting, method): experiment.n_graphs(setting, method, graphs)
        for setting in experiment.settings
        for method in chosen
        if setting.discrete or not METHODS[method].discrete
    }
    for index in range(max(counts.values(), default=0)):
        for (setting, method), count in counts.items():
            if index < count:
                yield Task(setting, method, FIRST_SEED + index)
