"""The saved result: a record of a fitted model in plain values, as JSON with a versioned schema.

fitted model -> summary -> Result -> JSON -> Result -> report
"""

from dcd.estimators.effect_answers import Effect
from dcd.graph.stability import Stability
from dcd.results import plot, report
from dcd.results.model import SCHEMA_VERSION, Result, load_result
from dcd.results.summary import summarise
from dcd.table.audit import Audit
from dcd.table.dataset import TableSummary
from dcd.table.fingerprint import fingerprint

__all__ = [
    "SCHEMA_VERSION",
    "Audit",
    "Effect",
    "Result",
    "Stability",
    "TableSummary",
    "fingerprint",
    "load_result",
    "plot",
    "report",
    "summarise",
]
