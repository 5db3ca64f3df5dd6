"""The saved result: an account of a fitted model in plain values, as JSON with a versioned schema.

fitted model -> summary -> Result -> JSON -> Result -> report
"""

from dcd.results.model import SCHEMA_VERSION, Result, load_result
from dcd.results.summary import summarise
from dcd.table.fingerprint import fingerprint

__all__ = ["SCHEMA_VERSION", "Result", "fingerprint", "load_result", "summarise"]
