"""Results in files: exact, complete, and refused with the part that is wrong."""

import contextlib
import copy
import json
import os
import stat
from functools import reduce
from importlib import resources

import jsonschema
import msgspec
import numpy as np
import pytest
from support.made_results import HOSTILE, make_document, random_cpdag

import dcd
from dcd import InputError, load_result
from dcd.results import SCHEMA_VERSION, Result


def json_schema():
    """The JSON Schema of a saved result, as in `schema-3.json`, made from the types of a result."""
    title = f"Result of a causal discovery with dcd, version {SCHEMA_VERSION}"
    draft = "https://json-schema.org/draft/2020-12/schema"
    schema = msgspec.json.schema(Result)
    for part in schema["$defs"].values():
        part.pop("description", None)  # the docstring, whose wording is not part of the format
    return json.loads(json.dumps({"$schema": draft, "title": title, **schema}))  # defaults are lists there


def test_round_trip_is_exact(tmp_path, result):
    result.save(tmp_path / "result.json")
    back = load_result(tmp_path / "result.json")
    assert back == result
    assert back.to_dict() == result.to_dict()
    jsonschema.validate(result.to_dict(), json_schema())
    assert json.loads((tmp_path / "result.json").read_text(encoding="utf-8")) == result.to_dict()


def test_odd_names_survive(tmp_path):
    names = [*HOSTILE, "half \ud800"]
    made = Result.from_dict(make_document(random_cpdag(names, 20), n_sample=3))
    made.save(tmp_path / "odd.json")
    assert load_result(tmp_path / "odd.json").names == tuple(names)


def test_writing_is_all_or_nothing(tmp_path, result, monkeypatch):
    path = tmp_path / "result.json"
    path.write_text("old", encoding="utf-8")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="No space left on device"):
        result.save(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_a_file_has_the_usual_mode(tmp_path, result):
    result.save(tmp_path / "result.json")
    (tmp_path / "other").touch()
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("result.json", "other")}
    assert len(modes) == 1
    with pytest.raises(InputError, match="folder that exists"):
        result.save(tmp_path / "nowhere" / "result.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not JSON"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"schema": NaN}', "is not JSON"),
        ("[]", "is not a saved result"),
        ("{}", "is not a saved result"),
        ('{"schema": 2}', "has schema version 2, but this release of dcd reads 3"),
        ('{"schema": "3"}', "has schema version '3'"),
        ('{"schema": true}', "has schema version True"),
        ('{"schema": 3}', "object missing required field `title`"),
    ],
)
def test_files_that_are_no_result_are_refused(tmp_path, text, message):
    path = tmp_path / "broken.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"broken\.json") as caught:
        load_result(path)
    assert message in str(caught.value)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_result(tmp_path / "none.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not UTF-8"):
        load_result(tmp_path / "binary.json")


DEEP = reduce(lambda inner, _: [inner], range(900), 1)


def _change(document, path, value):
    *parents, last = path
    for key in parents:
        document = document[key]
    document[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("edges", 0, "type"), "=>", "edges[0].type: invalid enum value '=>'"),
        (("edges", 0, "pvalue"), 2, "edges[0].pvalue: expected `float` <= 1.0, got 2"),
        (
            ("edges", 0, "first"),
            "nobody",
            "edges[0].first names 'nobody', which is not a variable of the graph",
        ),
        (("edges", 0, "second"), "v0", "edges[0]"),
        (("names", 0), 5, "names[0]: expected `str`, got `int`"),
        (("names", 0), "v1", "names has a name twice"),
        (("names",), ["v0"], "names: expected `array` of length >= 2, got ['v0']"),
        (("extra",), 1, "object contains unknown field `extra`"),
        (("edges", 0, "evidence"), None, "edges[0]: object contains unknown field `evidence`"),
        (("separated",), [["v0", "nobody"]], "separated[0] names 'nobody', which is not a variable"),
        (("data", "n_rows"), 3.5, "data.n_rows: expected `int`, got `float`"),
        (("data", "n_rows"), 2, "sample.rows has a position beyond the rows of the table"),
        (("data", "columns"), [], "data.columns are not the variables of the graph"),
        (("sample", "values", "v0"), [1.0], "sample.values.v0 must have 5 numbers, got 1"),
        (("sample", "weights", "v0"), [-1.0] * 5, "sample.weights[...][0]: expected `float` >= 0.0"),
        (
            ("sample", "values", "v0"),
            [float("inf")] * 5,
            "sample.values.v0[0] has inf, which JSON cannot hold",
        ),
        (("sample", "values"), {}, "sample.values must have every variable"),
        (("boundaries", 0, "target"), "v3", "boundaries are not those of the variables"),
        (("boundaries",), "text", "boundaries: expected `array`, got `str`"),
        (("boundaries", 0, "view", "bins"), [0.0, 1.0, 1.0, 2.0, 3.0], "view.bins must increase"),
        (
            ("boundaries", 0, "view", "bins"),
            [1.0],
            "boundaries[0].view.bins: expected `array` of length >= 2, got [1.0]",
        ),
        (
            ("boundaries", 0, "view", "decoupled"),
            [],
            "view.decoupled: expected `array` of length >= 1, got []",
        ),
        (
            ("sample", "values", "v0"),
            [1e308, -1e308, 0, 0, 0],
            "sample.values[...][0]: expected `float` <= 1e+300",
        ),
        (("sample", "weights", "v0"), [1e308] * 5, "sample.weights[...][0]: expected `float` <= 1e+300"),
        (
            ("reproduction", "parameters", "alpha"),
            float("inf"),
            "parameters.alpha has inf, which JSON cannot hold",
        ),
        (
            ("reproduction", "parameters", "test"),
            {"a": {1}},
            "parameters.test.a has {1}, which JSON cannot hold",
        ),
        (("reproduction", "parameters", "test"), DEEP, "is nested more than 40 deep"),
        (("reproduction", "seed"), -1, "reproduction.seed: expected `int` >= 0, got -1"),
    ],
)
def test_what_is_wrong_in_a_document_is_named(document, path, value, message):
    _change(document, path, value)
    with pytest.raises(InputError) as caught:
        Result.from_dict(document)
    assert message in str(caught.value)


def test_numbers_beyond_json_in_a_file_are_refused(tmp_path, document):
    text = json.dumps(document).replace('"alpha": 0.05', '"alpha": 1e999')
    (tmp_path / "odd.json").write_text(text)
    with pytest.raises(InputError, match=r"parameters\.alpha has inf"):
        load_result(tmp_path / "odd.json")


def test_edges_that_make_no_graph_are_refused(document):
    names = document["names"]
    line = dict(document["edges"][0], type="->")
    cycle = [(0, 1), (1, 2), (2, 0)]
    document["edges"] = [dict(line, first=names[i], second=names[j]) for i, j in cycle]
    with pytest.raises(InputError, match="has no valid graph"):
        Result.from_dict(document)


def _places(value, path=()):
    """All paths into a document."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _places(item, (*path, key))


@pytest.mark.parametrize("seed", range(3))
def test_the_types_and_the_schema_refuse_the_same(document, seed):
    """Random damage: both accept, or both refuse."""
    rng = np.random.default_rng(seed)
    validator = jsonschema.Draft202012Validator(json_schema())
    wrong = [None, True, -1, 2.5, "text", "->", [], {}, [1], {"a": 1}]
    refused = 0
    for _ in range(80):
        damaged = copy.deepcopy(document)
        places = [path for path in _places(damaged) if path]
        path = places[rng.integers(len(places))]
        _change(damaged, path, wrong[rng.integers(len(wrong))])
        try:
            msgspec.convert(damaged, Result)
        except msgspec.ValidationError as error:
            ours = error
        else:
            ours = None
        assert validator.is_valid(damaged) == (ours is None), (path, ours)
        refused += ours is not None
    assert refused > 25


def test_damage_is_never_anything_but_an_input_error(document):
    """Including damage that the schema cannot express; no other exception is raised."""
    rng = np.random.default_rng(5)
    wrong = [None, True, -1, 0, 1, 10**400, "text", "v1", "->", [], {}, ["v1"]]
    drawn = 0
    for _ in range(200):
        damaged = copy.deepcopy(document)
        for _ in range(2):
            places = [path for path in _places(damaged) if path]
            _change(damaged, places[rng.integers(len(places))], wrong[rng.integers(len(wrong))])
        with contextlib.suppress(InputError):
            drawn += bool(dcd.report.render(Result.from_dict(damaged)))
    assert drawn < 100  # most damage is refused; the rest can be drawn


def test_the_schema_is_valid_itself_and_the_one_in_the_package():
    """Renew it with `json.dumps(json_schema(), indent=1)` when the format changes."""
    jsonschema.Draft202012Validator.check_schema(json_schema())
    packaged = resources.files(dcd.results).joinpath("schema-3.json").read_text(encoding="utf-8")
    assert json.loads(packaged) == json_schema()
