"""Caveats of a result, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dcd.estimators.base import Diagnostics
from dcd.results.model import Boundary, Caution, Data, Edge, PosteriorSummary, Resampling
from dcd.results.report.phrases import listed
from dcd.runtime.text import percent
from dcd.search.base import MOST_DRIFT
from dcd.table.checks import FEW_GROUPS, FEW_ROWS
from dcd.table.notes import TableNote

_LOW_ESS = 0.3
_SHOWN = 6  # names in a list


def cautions_of(
    diagnostics: Diagnostics,
    data: Data,
    edges: Sequence[Edge],
    boundaries: Sequence[Boundary],
    posterior: PosteriorSummary | None,
    resampling: Resampling | None,
    notes: Sequence[TableNote] = (),
) -> tuple[Caution, ...]:
    """All caveats, the most serious kinds first."""
    return (
        *_of_rows(data),
        *(Caution(note.kind, note.columns, note.text) for note in notes),
        *_of_fit(diagnostics, boundaries),
        *_of_posterior(posterior),
        *_of_resampling(edges, resampling),
        *_of_columns(data),
    )


def _of_rows(data: Data) -> Iterator[Caution]:
    if data.n_rows_used < FEW_ROWS:
        yield Caution(
            "few-rows",
            (),
            f"Only {data.n_rows_used} rows were used. With so few, only the strongest relations can be "
            "detected: the absence of an edge means little.",
        )
    if data.n_groups is not None and data.n_groups < FEW_GROUPS:
        yield Caution(
            "few-groups",
            (),
            f"Rows belong to only {data.n_groups} groups. With so few, only the strongest relations show: "
            "the absence of an edge means little.",
        )
    if data.n_rows_used < 0.8 * data.n_rows:
        yield Caution(
            "rows-left-out",
            (),
            f"{data.n_rows - data.n_rows_used} of {data.n_rows} rows were left out: values are missing. "
            "If they are missing for reasons related to the variables, the graph can be wrong.",
        )


def _of_fit(diagnostics: Diagnostics, boundaries: Sequence[Boundary]) -> Iterator[Caution]:
    failed = diagnostics.failed
    if failed:
        yield Caution(
            "failed-decoupling",
            failed,
            f"Decoupling failed around {listed(failed, _SHOWN)}: the weights left more dependence than "
            "chance would explain. Edges there may be false. RobustDCD handles this better.",
        )
    views = {boundary.target: boundary.view for boundary in boundaries if boundary.view is not None}
    low = tuple(
        name for name, view in views.items() if view.ess < _LOW_ESS * view.n_rows and name not in failed
    )
    if low:
        yield Caution(
            "low-effective-sample-size",
            low,
            f"Around {listed(low, _SHOWN)}, the weights leave less than {percent(_LOW_ESS)} of the sample: "
            "results there rest on few rows.",
        )
    cuts = tuple(cut.target for cut in diagnostics.cuts)
    if cuts:
        yield Caution(
            "cut-search",
            cuts,
            f"The boundary of {listed(cuts, _SHOWN)} was too large to search in full; some of its edges may "
            "be false: they may lead to spouses (other causes of its effects). A larger max_subsets "
            "searches further.",
        )


def _of_posterior(posterior: PosteriorSummary | None) -> Iterator[Caution]:
    if posterior is None:
        return
    if posterior.drift > MOST_DRIFT:
        yield Caution(
            "chains-not-converged",
            (),
            f"The chains have not converged: probabilities differ by up to {posterior.drift:.2f} between the "
            "halves of the chains. Use more chains, such as "
            f"RobustDCD(search=WholeGraph(chains={4 * max(posterior.n_chains, 4)})).",
        )
    if not posterior.subsampled:
        yield Caution(
            "not-subsampled",
            (),
            "Every chain ran on all rows, because the table has too many columns for subsampling. "
            "Probabilities then rely too heavily on the model, and are too close to 0 and 1.",
        )


def _of_resampling(edges: Sequence[Edge], resampling: Resampling | None) -> Iterator[Caution]:
    for edge in edges:
        if edge.frequencies is not None and edge.frequencies.edge < 0.5:
            yield Caution(
                "unstable-edge",
                (edge.first, edge.second),
                f"An edge between {edge.first} and {edge.second} occurs in only "
                f"{percent(edge.frequencies.edge)} of the resamples.",
            )
    drawn = {frozenset((edge.first, edge.second)) for edge in edges}
    for pair in resampling.pairs if resampling else ():
        if pair.frequencies.edge >= 0.5 and frozenset((pair.first, pair.second)) not in drawn:
            yield Caution(
                "missed-edge",
                (pair.first, pair.second),
                f"{pair.first} and {pair.second} have no edge here, but one in "
                f"{percent(round(pair.frequencies.edge, 4))} of the resamples.",
            )


def _of_columns(data: Data) -> Iterator[Caution]:
    if data.dropped:
        names = listed(tuple(data.dropped), _SHOWN)
        yield Caution("dropped-columns", (), f"Left out of the graph: {names}.")
