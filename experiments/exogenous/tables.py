"""All tables of the experiment, by name."""

from __future__ import annotations

from experiments.exogenous.base import Source
from experiments.exogenous.studies import STUDIES
from experiments.exogenous.surveys import SURVEYS

TABLES: tuple[Source, ...] = tuple(sorted((*SURVEYS, *STUDIES), key=lambda table: table.name))
