"""Background knowledge: statements, files, contradictions."""

import json
from itertools import product

import numpy as np
import pytest
from support.statements import COLUMNS, FULL

from dcd import InputError, Knowledge


def arrows_of(matrix, names=COLUMNS):
    return {(names[i], names[j]) for i, j in np.argwhere(matrix)}


def test_every_kind_of_statement():
    bound = Knowledge(
        forbidden=[("lab_*", "age")], required=[("age", "lab_?")], no_edge=[("lab_1", "lab_2")]
    ).bind(COLUMNS)
    assert arrows_of(bound.required) == {("age", "lab_1"), ("age", "lab_2")}
    assert arrows_of(bound.forbidden) == {
        ("lab_1", "age"), ("lab_2", "age"), ("lab_1", "lab_2"), ("lab_2", "lab_1"),
    }  # fmt: skip
    assert arrows_of(bound.joined) == {("age", "lab_1"), ("age", "lab_2"), ("lab_1", "age"), ("lab_2", "age")}
    assert arrows_of(bound.apart) == {("lab_1", "lab_2"), ("lab_2", "lab_1")}
    roots = Knowledge(roots=["age", "sex"]).bind(COLUMNS).forbidden
    assert arrows_of(roots) == {(a, b) for a in COLUMNS for b in ("age", "sex") if a != b}
    leaves = Knowledge(leaves=["death"]).bind(COLUMNS).forbidden
    assert arrows_of(leaves) == {("death", b) for b in COLUMNS if b != "death"}


def test_tiers_take_names_first_and_then_what_is_left():
    tiers = [["age", "sex"], ["*"], ["death"]]
    tier = {"age": 0, "sex": 0, "lab_1": 1, "lab_2": 1, "Lab_3": 1, "death": 2}
    backwards = {(a, b) for a, b in product(COLUMNS, COLUMNS) if tier[a] > tier[b]}
    assert arrows_of(Knowledge(tiers=tiers).bind(COLUMNS).forbidden) == backwards
    within = {(a, b) for a, b in product(COLUMNS, COLUMNS) if a != b and tier[a] == tier[b]}
    closed = Knowledge(tiers=tiers, within_tiers="forbidden").bind(COLUMNS)
    assert arrows_of(closed.forbidden) == backwards | within
    free = Knowledge(tiers=[["age"], ["lab_*"]]).bind(COLUMNS)
    assert arrows_of(free.forbidden) == {("lab_1", "age"), ("lab_2", "age")}
    assert Knowledge(tiers=[["*"], ["*"]]).bind(COLUMNS).forbidden.sum() == 0  # the second has nothing left


def test_a_column_is_itself_before_it_is_a_pattern():
    bound = Knowledge(forbidden=[("x[1]", "y")]).bind(["x[1]", "x1", "y"])
    assert arrows_of(bound.forbidden, ["x[1]", "x1", "y"]) == {("x[1]", "y")}


def test_statements_are_sentences_for_people():
    assert FULL.statements() == (
        "age -> death is required.",
        "lab_* -> age is forbidden.",
        "No edge between age and sex is allowed.",
        "Tier 1 (age, sex) comes before tier 2 (*).",
        "No edge within tier 1 (age, sex) is allowed.",
        "No edge within tier 2 (*) is allowed.",
        "sex is a root (no arrow points at it).",
        "death is a leaf (no arrow leaves it).",
    )
    assert Knowledge().statements() == ()


def test_there_and_back(tmp_path):
    assert Knowledge.from_dict(json.loads(json.dumps(FULL.to_dict()))) == FULL
    assert Knowledge().to_dict() == {}
    path = tmp_path / "knowledge.toml"
    path.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in FULL.to_dict().items()))
    assert Knowledge.from_toml(path) == FULL
    assert hash(Knowledge.from_toml(str(path))) == hash(FULL)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("forbiden = []", r"'forbiden': is not a kind of statement. Did you mean 'forbidden'"),
        ("forbidden = 'a'", r"'forbidden': must be a list, got 'a'. Try forbidden = \[\['a', 'b'\]\]"),
        ("required = [['a', 'b', 'c']]", r"'required': must hold pairs of names, got \['a', 'b', 'c'\]"),
        ("required = ['ab']", r"'required': must hold pairs of names, got 'ab'"),
        ("required = [['a', 1]]", "'required': must hold pairs"),
        ("tiers = ['a', 'b']", "'tiers': must hold lists of names, got 'a'"),
        ("tiers = [[1]]", r"'tiers': must hold lists of names, got \[1\]"),
        ("roots = [1]", r"'roots': must hold names, got \[1\]"),
        ("leaves = true", "'leaves': must be a list, got True"),
        ("[roots]\na = 1", "'roots': must be a list"),
        ("within_tiers = 'never'", "'within_tiers': must be one of 'allowed', 'forbidden'"),
        ("required = [['a', 'a']]", "'required': has 'a' on both sides"),
        ("roots", "is not TOML"),
    ],
)
def test_a_bad_file_is_told_by_its_key(tmp_path, text, message):
    path = tmp_path / "knowledge.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        Knowledge.from_toml(path)


def test_no_file_and_no_mapping(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        Knowledge.from_toml(tmp_path / "none.toml")
    with pytest.raises(InputError, match="must be a mapping"):
        Knowledge.from_dict([])


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"required": [("a", "b")], "forbidden": [("a", "b")]},
            ["a -> b is required", "a -> b is forbidden"],
        ),
        ({"required": [("a", "b")], "no_edge": [("b", "a")]}, ["a -> b is required", "between b and a"]),
        (
            {"required": [("b", "a")], "tiers": [["a"], ["b"]]},
            ["b -> a is required", "tier 1 (a) comes before tier 2 (b)"],
        ),
        (
            {"required": [("a", "b")], "tiers": [["a", "b"]], "within_tiers": "forbidden"},
            ["a -> b is required", "no edge within tier 1 (a, b)"],
        ),
        (
            {"required": [("c", "x"), ("x", "a")], "tiers": [["a"], ["b"], ["c"]]},
            ["c -> x is required", "x -> a is required", "tier 1 (a) comes before tier 3 (c)", "c, which"],
        ),
        ({"required": [("a", "b")], "roots": ["b"]}, ["a -> b is required", "b is a root"]),
        ({"required": [("a", "b")], "leaves": ["a"]}, ["a -> b is required", "a is a leaf"]),
        ({"required": [("a", "b"), ("b", "a")]}, ["a -> b is required", "b -> a is required"]),
        (
            {"required": [("c", "a"), ("x", "b"), ("a", "b"), ("b", "c")]},
            ["a -> b is required", "b -> c is required", "c -> a is required"],
        ),
        ({"tiers": [["a", "b"], ["c", "a"]]}, ["a is in tier 1 (a, b)", "a is in tier 2 (c, a)"]),
    ],
)
def test_a_contradiction_names_both_statements(stated, words):
    with pytest.raises(InputError, match="contradicts itself") as caught:
        Knowledge(**stated)
    assert all(word in str(caught.value) for word in words)
    assert ("x -> b" in str(caught.value)) == ("x -> b" in words)


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        (
            {"required": [("*b_1", "age")], "tiers": [["age"], ["*"]]},
            ["*b_1 -> age is required", "tier 1 (age) comes before tier 2 (*)", "lab_1 -> age"],
        ),
        ({"required": [("lab_*", "lab_*")]}, ["'lab_* -> lab_* is required' alone", "lab_1, which"]),
        ({"required": [("age", "*")], "roots": ["s?x"]}, ["age -> * is required", "s?x is a root"]),
    ],
)
def test_a_contradiction_of_patterns_shows_at_the_table(stated, words):
    knowledge = Knowledge(**stated)
    with pytest.raises(InputError, match="contradicts itself") as caught:
        knowledge.bind(COLUMNS)
    assert all(word in str(caught.value) for word in words)


@pytest.mark.parametrize("names", [["a", "b", "a"], ["a", 1, "1"], "x" * 5000])
def test_a_column_that_is_named_twice_is_refused(names):
    with pytest.raises(InputError, match=r"parameter 'names': has '[a1x]' more than once"):
        Knowledge(roots=["a"]).bind(names)
