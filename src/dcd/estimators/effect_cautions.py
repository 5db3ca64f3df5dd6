"""Caveats of an effect: what its estimates, its rows and its graphs leave open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from dcd.estimators.effect_answers import Effect, listed_names
from dcd.estimators.effect_estimates import Estimate
from dcd.graph.adjustment_sets import Adjustments
from dcd.runtime.text import percent, toml_entry
from dcd.search.base import MOST_DRIFT


def cautions_of_dependence(notes: Iterable[tuple[Sequence[str], str]], *, in_groups: bool) -> tuple[str, ...]:
    """Short caveats about dependent rows, from the variables and the text of each caveat of the fit.

    One that names a column of subjects is kept; one about the order of rows has no variables.
    """
    what, remedy = "Rows appear to depend on earlier rows", "name the rows that belong together"
    if in_groups:
        what, remedy = "Groups of rows appear to depend on earlier groups", "name larger groups"
    of_order = (
        f"{what} (dcd audit shows where). Unless the table is merely sorted, edges may be false and "
        f"intervals too narrow: {remedy} (groups= or --groups), or use differences over time."
    )
    return tuple(text if variables else of_order for variables, text in notes)


def cautions_of_fit(n_against_knowledge: int, drift: float | None) -> Iterator[str]:
    """Whether data and knowledge of the fit disagree, and whether its chains have converged."""
    if n_against_knowledge:
        times = "In one place" if n_against_knowledge == 1 else f"In {n_against_knowledge} places"
        yield (
            f"{times} the data alone suggest something other than the background knowledge of the fit does "
            "(dcd discover shows where)."
        )
    if drift is not None and drift > MOST_DRIFT:
        yield (
            f"The chains have not converged: probabilities differ by up to {drift:.2f} between their halves, "
            "so the shares of graphs are uncertain. Use more chains, by WholeGraph(chains=...) in Python."
        )


def cautions_of_estimates(
    treatment: str, estimates: Sequence[tuple[tuple[str, ...], Estimate]]
) -> Iterator[str]:
    """One caveat of each kind, however many of the estimates it concerns."""
    if poor := [(fixed, found.share) for fixed, found in estimates if found.caution == "overlap"]:
        yield (
            f"With {_sets_in_words(poor, 'the')} held fixed, one level of {treatment} is rare "
            f"(probability below 5 %) in {_shares_in_words(poor)} of the rows: there the estimate rests on "
            "the model."
        )
    if explained := [(fixed, found.share) for fixed, found in estimates if found.caution == "explained"]:
        verb = "explains" if len(explained) == len(explained[0][0]) == 1 else "explain"
        yield (
            f"{_sets_in_words(explained, 'The')} {verb} {_shares_in_words(explained)} of the variance of "
            f"{treatment}: little variation is left from which to estimate the effect."
        )


def _sets_in_words(concerned: Sequence[tuple[tuple[str, ...], float]], article: str) -> str:
    if len(concerned) == 1:
        return listed_names(concerned[0][0])
    return f"{article} variables of {len(concerned)} answers"


def _shares_in_words(concerned: Sequence[tuple[tuple[str, ...], float]]) -> str:
    low, high = (percent(end(share for _, share in concerned)) for end in (min, max))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def cautions_of_rows(result: Effect, n_complete: int | None) -> Iterator[str]:
    """How many rows the estimates leave out, and whether the graph was found on fewer."""
    n_rows = result.n_rows
    left_out = [n_rows - answer.n_rows for answer in result.answers if answer.adjustment is not None]
    on_fewer = n_complete is not None and any(n_rows - number != n_complete for number in left_out)
    of_graph = f"The graph was found on the {n_complete} rows that are complete in all columns."
    if max(left_out, default=0) > 0:
        few, many = min(left_out), max(left_out)
        number = f"{many}" if few == many else f"{few} to {many}" if few else f"Up to {many}"
        whose = " of the estimates" if on_fewer else ""
        reason = "they lack a value in a column that is used, or have weight 0."
        yield f"{number} of {n_rows} rows were left out{whose}: {reason}{f' {of_graph}' * on_fewer}"
    elif on_fewer:
        yield of_graph


def cautions_of_graphs(result: Effect, adjustments: Adjustments, order_is_known: bool) -> Iterator[str]:
    """What "no effect" rests on, and whether there were too many graphs."""
    several = len(result.answers) > 1
    denied = any(answer.adjustment is None for answer in result.answers)
    if denied and order_is_known and several:
        yield f"No effect: in these graphs no path leads from {result.treatment} to {result.outcome}."
    elif denied and not order_is_known and (result.over == "posterior" or several):  # not for a given DAG
        tiers = f"tiers = [[{toml_entry([result.treatment])}], [{toml_entry([result.outcome])}]]"
        yield (
            '"No effect" is a claim about directions, which are less certain than edges. If '
            f"{result.outcome} comes after {result.treatment}, state it as knowledge: {tiers}. Better still, "
            "put all columns into tiers."
        )
    if not adjustments.complete:
        yield "There are too many graphs to consider them all; the true range may be wider."
