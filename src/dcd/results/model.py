"""`Result`: a frozen record of a fitted model, in plain values, that can be saved and read back.

The types below define the format: msgspec checks a file against them, and `schema-3.json` is made from them
(`tests/results/test_result_files.py`).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from dcd.estimators.effects import FittedGraphs
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.probabilities import EdgeType, Probabilities
from dcd.results.consistency import check_fit, check_json, check_version, refusal
from dcd.results.effect_graphs import fitted_graphs_of
from dcd.results.json_text import json_text, parsed
from dcd.runtime.errors import InputError, check_type
from dcd.runtime.files import read_text, write_text

SCHEMA_VERSION = 3
LARGEST = 1e300  # the largest number that can be drawn

Count = Annotated[int, Meta(ge=0, le=2**53)]
Share = Annotated[float, Meta(ge=0, le=1)]
Association = Annotated[float, Meta(ge=-1, le=1)]
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST)]
Drawable = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]


class _Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a result."""


class Column(_Part, frozen=True):
    """One column of the table: its kind and why, the number of missing values, and its levels."""

    name: str
    kind: Literal["continuous", "ordinal", "nominal"]
    why: str
    n_missing: Count
    levels: tuple[str, ...] | None


class Data(_Part, frozen=True):
    """A summary of the table; `fingerprint` is that of `dcd.results.fingerprint`.

    `n_groups` is the number of groups of rows that belong together; None without groups.
    """

    n_rows: Count
    n_rows_used: Count
    columns: tuple[Column, ...]
    dropped: dict[str, str]
    weighted: bool
    fingerprint: str
    n_groups: Count | None = None


class Frequencies(_Part, frozen=True):
    """Shares of resamples in which a pair had `first -> second`, `second -> first` or an undirected edge."""

    forward: Share
    backward: Share
    undirected: Share

    @property
    def edge(self) -> float:
        """How often there was an edge of any type."""
        return min(1.0, self.forward + self.backward + self.undirected)


class Edge(_Part, frozen=True):
    """`first -> second` or `first - second`.

    Attributes
    ----------
    uncertain : whether `first -> second` is an arrow of the class, but too uncertain to be drawn.
    pvalue : of the independence of the two; None if it could not be tested.
    background : whether the arrow's direction comes from knowledge.
    probabilities : of the types of edge of this pair; None if the fit has none.
    frequencies : of this pair over resamples.
    confirmed : whether tests confirm the arrow `first -> second`; None if it was not tested.
    """

    first: str
    second: str
    type: EdgeType
    uncertain: bool
    pvalue: Share | None
    background: bool
    probabilities: Probabilities | None
    frequencies: Frequencies | None
    confirmed: bool | None


class ProbablePair(_Part, frozen=True):
    """Probabilities of the types of edge between two variables."""

    first: str
    second: str
    probabilities: Probabilities


class SampledGraphs(_Part, frozen=True):
    """Some of the graphs sampled by the chains, for `dcd.effect`.

    Attributes
    ----------
    arrows : `(cause, effect)` for every arrow that occurs in any of the graphs.
    graphs : the distinct graphs, each a hexadecimal number with a bit for each arrow, the first one lowest.
    counts : how often each was sampled.
    """

    arrows: tuple[tuple[str, str], ...]
    graphs: Annotated[tuple[Annotated[str, Meta(pattern="^[0-9a-f]+$")], ...], Meta(min_length=1)]
    counts: tuple[Annotated[int, Meta(ge=1, le=2**31)], ...]


LISTED = 0.1  # smallest probability of an edge with which a pair is listed, unless a test separates it


class PosteriorSummary(_Part, frozen=True):
    """The posterior distribution over graphs.

    Attributes
    ----------
    arrow_probability : the smallest probability of an arrow that is drawn.
    n_chains : Markov chains over graphs; 0 if a search of your own has none.
    drift : the largest difference in any probability between the halves of the chains.
    subsampled : whether each chain ran on a random subset of the rows.
    pairs : pairs whose probability of an edge is 10 % or more, and those that a test separates.
    graphs : some sampled graphs; None if a search of your own keeps none.
    """

    arrow_probability: Share
    n_chains: Count
    drift: Share
    subsampled: bool
    pairs: tuple[ProbablePair, ...]
    graphs: SampledGraphs | None


class Collider(_Part, frozen=True):
    """`first -> middle <- second`."""

    first: str
    middle: str
    second: str


class Member(_Part, frozen=True):
    """A member of a Markov boundary.

    `before` and `after` are the strength of its association with the target, under equal weights and under
    the weights of the target's view; `measure` names it.
    """

    name: str
    role: Role
    pvalue: Share | None
    measure: str
    before: Association | None
    after: Association | None


class View(_Part, frozen=True):
    """How the variables around one target were decoupled.

    Attributes
    ----------
    decoupled : the variables that the weights decouple, all from each other or one from the rest.
    n_rows : rows that have weights.
    ess : effective sample size.
    status : why learning the weights stopped.
    dependence_before, dependence : of the decoupled variables, relative to the chance level.
    bins, counts : histogram of the weights; `bins` are the limits, one more than counts.
    """

    decoupled: Annotated[tuple[str, ...], Meta(min_length=1)]
    n_rows: Count
    ess: NotNegative
    status: str
    dependence_before: NotNegative
    dependence: NotNegative
    bins: Annotated[tuple[NotNegative, ...], Meta(min_length=2)]
    counts: tuple[Count, ...]


class Boundary(_Part, frozen=True):
    """The Markov boundary of one variable, and its view (None if there is none)."""

    target: str
    members: tuple[Member, ...]
    view: View | None


class ReportedConflict(_Part, frozen=True):
    """A contradiction and how it was resolved; see `dcd.search.base.Conflict`."""

    kind: str
    variables: tuple[str, ...]
    problem: str
    action: str


class Caution(_Part, frozen=True):
    """A caveat in words; `kind` is a machine-readable word."""

    kind: str
    variables: tuple[str, ...]
    text: str


AnswerKey = Literal["roots", "forbidden", "no_edge"]


class Statement(_Part, frozen=True):
    """A line of a knowledge file, such as `roots = ["age"]`: its key, the names in it, and its meaning."""

    key: AnswerKey
    names: tuple[str, ...]
    meaning: str
    line: str


class Question(_Part, frozen=True):
    """A question that the data leave open but a reader may be able to answer, with the possible answers.

    `kind` is "root" (is the variable caused by no other column?) or "direction" (which of two is the cause?).
    """

    kind: Literal["root", "direction"]
    variables: tuple[str, ...]
    text: str
    answers: tuple[Statement, ...]


class Pair(_Part, frozen=True):
    """Frequencies of a pair of variables over resamples."""

    first: str
    second: str
    frequencies: Frequencies


class Resampling(_Part, frozen=True):
    """The results of refitting to resamples.

    Attributes
    ----------
    n_resamples : how many were fitted; `n_failed` more could not be fitted.
    scheme : how rows were drawn, "subsample" or "bootstrap".
    fraction : share of the rows in a subsample; None for "bootstrap".
    seed : the `random_state` of the draws; None if unknown.
    pairs : the pairs of variables that had an edge at least once.
    """

    n_resamples: Annotated[int, Meta(ge=1, le=2**53)]
    n_failed: Count
    scheme: Literal["subsample", "bootstrap"]
    fraction: Share | None
    seed: Annotated[int, Meta(ge=0)] | None
    pairs: tuple[Pair, ...]


class Sample(_Part, frozen=True):
    """Some rows of the table, for pictures.

    Attributes
    ----------
    rows : their positions in the table, from 0.
    values : of each column, rounded to six digits; codes for columns with levels; None is missing.
    weights : for each target with a view the weights of these rows; None for a row without one.
    """

    rows: tuple[Count, ...]
    values: dict[str, tuple[Drawable | None, ...]]
    weights: dict[str, tuple[NotNegative | None, ...]]


class Reproduction(_Part, frozen=True):
    """How to reproduce a fit: versions, the estimator with its parameters, and Python code."""

    versions: dict[str, str]
    estimator: str
    parameters: dict[str, Any]
    seed: Annotated[int, Meta(ge=0)] | None
    code: str


class Result(_Part, frozen=True, tag_field="schema", tag=SCHEMA_VERSION):
    """The record of a fitted model. Created by `dcd.summarise`, read back by `dcd.load_result`.

    Attributes
    ----------
    title : a heading.
    names : the variables of the graph.
    level : the level of each single test.
    separated : pairs that the best graph joined but a test did not confirm.
    data, edges, posterior, colliders, boundaries, conflicts, cautions, resampling, knowledge, sample,
    reproduction, questions :
        see their types. `knowledge` has statements in words; `posterior`, `resampling` and `sample` can be
        None.
    """

    title: str
    names: Annotated[tuple[str, ...], Meta(min_length=2)]
    level: Share
    data: Data
    edges: tuple[Edge, ...]
    posterior: PosteriorSummary | None
    colliders: tuple[Collider, ...]
    boundaries: tuple[Boundary, ...]
    separated: tuple[tuple[str, str], ...]
    conflicts: tuple[ReportedConflict, ...]
    cautions: tuple[Caution, ...]
    resampling: Resampling | None
    knowledge: tuple[str, ...]
    sample: Sample | None
    reproduction: Reproduction
    questions: tuple[Question, ...] = ()

    @property
    def cpdag(self) -> CPDAG:
        """The graph."""
        position = {name: index for index, name in enumerate(self.names)}
        adjacency = np.zeros((len(self.names), len(self.names)), dtype=np.int8)
        for edge in self.edges:
            first, second = position[edge.first], position[edge.second]
            adjacency[first, second] = 1
            adjacency[second, first] = edge.type == "-" and not edge.uncertain
        background = tuple((edge.first, edge.second) for edge in self.edges if edge.background)
        uncertain = tuple((edge.first, edge.second) for edge in self.edges if edge.uncertain)
        return CPDAG(self.names, adjacency, background, uncertain)

    def fitted_graphs(self) -> FittedGraphs:
        """The graphs of the fit, so that `dcd.effect` gives the same answer for a result as for the model."""
        return fitted_graphs_of(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, text and numbers, as in the JSON file."""
        return dict(json.loads(json.dumps(msgspec.to_builtins(self), allow_nan=False)))

    @classmethod
    def from_dict(cls, document: Any, *, source: str = "the result") -> Result:
        """The inverse of `to_dict`; raises `InputError` for anything else."""
        check_type("source", source, str, "Name where the document comes from.")
        check_version(document, SCHEMA_VERSION, source)
        check_json(document, source)
        try:
            result = msgspec.convert(document, cls)
        except msgspec.ValidationError as error:
            raise refusal(error, document, source) from error
        check_fit(result, source)
        try:
            _ = result.cpdag
        except InputError as error:
            raise InputError(source, f"has no valid graph ({error})", "Save it again.") from error
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON, completely or not at all."""
        # One part per line, so that two results can be compared line by line.
        parts = (f" {json.dumps(key)}: {json_text(value)}" for key, value in self.to_dict().items())
        write_text(path, "{\n" + ",\n".join(parts) + "\n}\n")


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote.

    Raises `InputError` if the file is not JSON, has another schema version, or contains anything of a wrong
    type or shape.
    """
    text, source = read_text(path), f"file {str(Path(path))!r}"
    try:
        document = parsed(text)
    except (ValueError, RecursionError) as error:
        raise InputError(source, f"is not JSON ({error})", "Save the result again.") from error
    return Result.from_dict(document, source=source)
