"""All tables of the experiment, by name."""

from __future__ import annotations

from experiments.exogenous.base import Source
from experiments.exogenous.health import HEALTH
from experiments.exogenous.labour import LABOUR
from experiments.exogenous.nature import NATURE
from experiments.exogenous.schools import SCHOOLS
from experiments.exogenous.society import SOCIETY
from experiments.exogenous.studies import STUDIES
from experiments.exogenous.surveys import SURVEYS
from experiments.exogenous.trials import TRIALS

_MODULES = (SURVEYS, STUDIES, LABOUR, SOCIETY, SCHOOLS, HEALTH, TRIALS, NATURE)

TABLES: tuple[Source, ...] = tuple(
    sorted((table for module in _MODULES for table in module), key=lambda table: table.name)
)
