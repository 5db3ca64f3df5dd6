"""`Result`: a frozen account of a fitted model, made of plain values, that can be saved and read back."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from dcd.graph.cpdag import CPDAG, Role
from dcd.results.checks import check_document
from dcd.results.files import read_text, write_text
from dcd.runtime.errors import InputError

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Column:
    """One column of the table: its kind, why it has it, values missing, and the labels of its levels."""

    name: str
    kind: Literal["continuous", "ordinal", "nominal"]
    why: str
    n_missing: int
    levels: tuple[str, ...] | None


@dataclass(frozen=True)
class Data:
    """The table at a glance; `fingerprint` is that of `dcd.results.fingerprint`."""

    n_rows: int
    n_rows_used: int
    columns: tuple[Column, ...]
    dropped: dict[str, str]
    weighted: bool
    fingerprint: str


@dataclass(frozen=True)
class Frequencies:
    """How often, of all resamples, a pair had `first -> second`, `second -> first`, a line, or no edge."""

    forward: float
    backward: float
    undirected: float

    @property
    def edge(self) -> float:
        """How often there was an edge of any type."""
        return min(1.0, self.forward + self.backward + self.undirected)


@dataclass(frozen=True)
class Edge:
    """`first -> second` or `first - second`.

    Attributes
    ----------
    pvalue : of the independence of the two; None if an edge comes from knowledge alone.
    evidence : of the best collider that this arrow is part of; None for other edges.
    background : whether the arrow's direction comes from knowledge that was given.
    frequencies : of this pair over resamples.
    """

    first: str
    second: str
    type: Literal["->", "-"]
    pvalue: float | None
    evidence: float | None
    background: bool
    frequencies: Frequencies | None


@dataclass(frozen=True)
class Collider:
    """`first -> middle <- second`, with its evidence if the model tells it."""

    first: str
    middle: str
    second: str
    evidence: float | None


@dataclass(frozen=True)
class Member:
    """A member of a Markov boundary.

    `before` and `after` are the strength of its association with the target, of all rows alike and under the
    weights of the target's view; `measure` names it.
    """

    name: str
    role: Role
    pvalue: float | None
    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class View:
    """What decoupling the variables around one target does.

    Attributes
    ----------
    decoupled : the variables that the weights make independent of each other.
    n_rows : rows that have weights.
    ess : effective sample size.
    status : why the learning of weights ended.
    dependence_before, dependence : of the decoupled variables, in units of what chance leaves.
    bins, counts : histogram of the weights; `bins` are the limits, one more than counts.
    """

    decoupled: tuple[str, ...]
    n_rows: int
    ess: float
    status: str
    dependence_before: float
    dependence: float
    bins: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Boundary:
    """The Markov boundary of one variable, and its view (None if there is none)."""

    target: str
    members: tuple[Member, ...]
    view: View | None


@dataclass(frozen=True)
class Conflict:
    """What the data contradicted, and what was done about it; as `dcd.search.base.Conflict`."""

    kind: str
    variables: tuple[str, ...]
    problem: str
    action: str


@dataclass(frozen=True)
class Caution:
    """A reason to be careful, in words; `kind` is one word for machines."""

    kind: str
    variables: tuple[str, ...]
    text: str


@dataclass(frozen=True)
class Pair:
    """Frequencies of a pair of variables over resamples."""

    first: str
    second: str
    frequencies: Frequencies


@dataclass(frozen=True)
class Resampling:
    """What refitting on resamples showed.

    Attributes
    ----------
    n_resamples : how many were fitted; `n_failed` more were refused by the method.
    scheme : how rows were drawn, "subsample" or "bootstrap".
    fraction : share of the rows in a subsample; None for "bootstrap".
    seed : the `random_state` of the draws; None if it is not known.
    pairs : those that had an edge at least once.
    """

    n_resamples: int
    n_failed: int
    scheme: str
    fraction: float | None
    seed: int | None
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Sample:
    """Some rows of the table, for pictures.

    Attributes
    ----------
    rows : their positions in the table, from 0.
    values : of each column, rounded to six digits; codes for columns with levels; None is missing.
    weights : for each target with a view the weights of these rows; None where a row has none.
    """

    rows: tuple[int, ...]
    values: dict[str, tuple[float | None, ...]]
    weights: dict[str, tuple[float | None, ...]]


@dataclass(frozen=True)
class Reproduction:
    """What it takes to run it again: versions, the estimator with its parameters, and Python lines."""

    versions: dict[str, str]
    estimator: str
    parameters: dict[str, Any]
    seed: int | None
    code: str


@dataclass(frozen=True)
class Result:
    """The account of a fitted model. Made by `dcd.summarise`, read back by `dcd.load_result`.

    Attributes
    ----------
    title : a line for people.
    names : the variables of the graph.
    level : the level at which one single test rejects.
    data, edges, colliders, boundaries, conflicts, cautions, resampling, knowledge, sample, reproduction :
        see their types. `knowledge` is statements in words; `resampling` and `sample` can be None.
    """

    title: str
    names: tuple[str, ...]
    level: float
    data: Data
    edges: tuple[Edge, ...]
    colliders: tuple[Collider, ...]
    boundaries: tuple[Boundary, ...]
    conflicts: tuple[Conflict, ...]
    cautions: tuple[Caution, ...]
    resampling: Resampling | None
    knowledge: tuple[str, ...]
    sample: Sample | None
    reproduction: Reproduction

    @property
    def cpdag(self) -> CPDAG:
        """The graph."""
        place = {name: index for index, name in enumerate(self.names)}
        adjacency = np.zeros((len(self.names), len(self.names)), dtype=np.int8)
        for edge in self.edges:
            first, second = place[edge.first], place[edge.second]
            adjacency[first, second] = 1
            adjacency[second, first] = edge.type == "-"
        background = tuple((edge.first, edge.second) for edge in self.edges if edge.background)
        return CPDAG(self.names, adjacency, background)

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, text and numbers, as in the JSON file."""
        return {"schema": SCHEMA_VERSION, **_plain(asdict(self))}

    @classmethod
    def from_dict(cls, document: Any, *, source: str = "the result") -> Result:
        """The result that `to_dict` gave; anything else is an `InputError` that says what is wrong."""
        check_document(document, SCHEMA_VERSION, source)
        result: Result = _build(cls, {key: value for key, value in document.items() if key != "schema"})
        try:
            _ = result.cpdag
        except InputError as error:
            raise InputError(source, f"has edges that make no graph ({error})", "Save it again.") from error
        return result

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON; the file is either there in full or not at all."""
        write_text(path, _as_json(self.to_dict()))


def load_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `Result.save` wrote.

    Raises
    ------
    InputError
        if the file is no JSON, has another schema version, or anything in it has a wrong type or shape.
    """
    source = f"file {str(Path(path))!r}"
    try:
        document = json.loads(read_text(path), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(source, f"is no JSON ({error})", "Save the result again.") from error
    return Result.from_dict(document, source=source)


def _as_json(document: dict[str, Any]) -> str:
    """One part on a line, so that two results can be compared line by line."""
    parts = (f" {json.dumps(key)}: {_dumps(value)}" for key, value in document.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _dumps(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Half a surrogate pair, which a name can hold, is no UTF-8; escaped it comes back as it was.
    return text if text.isascii() or _is_utf8(text) else json.dumps(value, allow_nan=False)


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


def _plain(value: Any) -> Any:
    """Tuples as lists, all the way down."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _build(kind: Any, value: Any) -> Any:
    """A value of a type from its plain form, which has been checked."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if value is None else _build(next(a for a in arguments if a is not type(None)), value)
    if origin is tuple:
        return tuple(_build(arguments[0], item) for item in value)
    if origin is dict:
        return {key: _build(arguments[1], item) for key, item in value.items()}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        make: Any = kind
        return make(**{name: _build(hints[name], item) for name, item in value.items()})
    return float(value) if kind is float else value
