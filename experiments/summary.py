"""From rows to cells: mean, standard deviation and count, and their distance from the paper's."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from dcd.evaluation.baselines import METHODS
from experiments.plan import Experiment
from experiments.settings import Setting, Simulated
from experiments.store import RESULTS, as_frame, read_rows, setting_key

METRICS = ("shd_c", "precision", "recall", "f1")
_PAPER_TABLE = Path(__file__).parent / "paper_table1.csv"


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation over a number of graphs."""

    mean: float
    deviation: float
    count: int

    @property
    def standard_error(self) -> float:
        """Of the mean; unknown from a single graph."""
        return self.deviation / np.sqrt(self.count)

    def difference(self, other: Spread) -> float:
        """How far this mean is above the other, in standard errors of the difference."""
        gap = self.mean - other.mean
        error = np.hypot(self.standard_error, other.standard_error)
        return float(gap / error) if error != 0 else math.copysign(math.inf, gap) if gap else 0.0


@dataclass(frozen=True)
class Cell:
    """The results of one method in one setting.

    Attributes
    ----------
    ours, paper : metric to spread; `paper` is empty where the paper gives no number.
    missing : status to number of runs that gave no graph.
    seconds, peak_mb : medians.
    made_with : versions and commits that its rows name.
    """

    setting: Setting
    method: str
    ours: dict[str, Spread]
    paper: dict[str, Spread]
    missing: dict[str, int]
    seconds: float
    peak_mb: float
    made_with: frozenset[str] = frozenset()

    @property
    def count(self) -> int:
        """Graphs behind the means."""
        return self.ours["shd_c"].count if self.ours else 0


def cells_of(experiment: Experiment, folder: Path = RESULTS) -> list[Cell]:
    """All cells of an experiment that have rows, methods within settings in the order of the config."""
    rows = as_frame(list(read_rows(folder).values()))
    key_columns = list(rows.columns[: rows.columns.get_loc("method")])
    grouped = dict(list(rows.groupby([*key_columns, "method"])))
    cells = []
    for setting in experiment.settings:
        for method in experiment.methods:
            group = grouped.get((*setting_key(setting), method))
            if group is not None:
                cells.append(_cell(setting, method, group))
    return cells


def _cell(setting: Setting, method: str, rows: pd.DataFrame) -> Cell:
    good = rows[rows["status"] == "ok"]
    spreads = {name: Spread(good[name].mean(), good[name].std(), len(good)) for name in METRICS}
    missing = dict(Counter(rows.loc[rows["status"] != "ok", "status"]))
    seconds, memory = good["seconds"].median(), good["peak_mb"].median()
    versions = {part for text in rows["versions"] for part in text.split("; ")}
    commits = {f"commit {commit}" for commit in rows["commit"] if commit}
    return Cell(
        setting=setting,
        method=method,
        ours=spreads if len(good) else {},
        paper=paper_cell(setting, method),
        missing=missing,
        seconds=seconds,
        peak_mb=memory,
        made_with=frozenset(versions | commits),
    )


def paper_cell(setting: Setting, method: str) -> dict[str, Spread]:
    """The paper's numbers, if this is a setting of its Table 1, by its numbers or by its text."""
    if not isinstance(setting, Simulated):
        return {}
    as_borne_out = replace(setting, noise_measure=Simulated.noise_measure, biases=Simulated.biases)
    if as_borne_out != Simulated(d=setting.d, mechanism=setting.mechanism):
        return {}
    table = _paper_table()
    here = (table["d"] == setting.d) & (table["mechanism"] == setting.mechanism)
    rows = table[here & (table["method"] == METHODS[method].label)]
    count = 25 if setting.d == 20 else 50
    spreads = rows.set_index("metric")[["mean", "std"]].to_dict("index")
    return {str(metric): Spread(row["mean"], row["std"], count) for metric, row in spreads.items()}


@cache
def _paper_table() -> pd.DataFrame:
    return pd.read_csv(_PAPER_TABLE)
