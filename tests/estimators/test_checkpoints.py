"""Checkpoints of a fit: every number is exact to the last bit, and foreign content is refused."""

import base64
import dataclasses
import json

import msgspec
import numpy as np
import pytest
from support.checkpoints import interacting_table

from dcd.estimators.checkpoints import digest_of, published_codecs, robust_codecs
from dcd.independence.base import Interaction, Record
from dcd.search.decoupled_boundaries import DecoupledSet
from dcd.table.reading import read_columns
from dcd.weights.base import SampleWeights, WeightSketch

# Exceptions that a checkpoint turns into an InputError that names the line.
DAMAGE = (msgspec.ValidationError, ValueError, TypeError, KeyError)


def through_json(codec, key, result):
    return codec.read(key, json.loads(json.dumps(codec.write(result))))


def sketch_of(numbers, n_shown=4):
    return WeightSketch(9, *numbers[:1], "converged", *numbers[1:3], numbers[:3], (3, 6), numbers[:n_shown])


def decoupled_set(variables, numbers, hsic_before, hsic_after, correlations, pvalues, sketch):
    return DecoupledSet(
        weights=np.empty(0),
        ess=numbers[-1],
        dependence_before=np.inf,
        dependence=np.nan,
        status="converged",
        loss_path=numbers,
        hsic_before=hsic_before,
        hsic_after=hsic_after,
        sketch=sketch,
        variables=tuple(variables),
        correlations=correlations,
        pvalues=pvalues,
    )


def test_every_number_comes_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, np.pi, 1e308, 1 / 3])
    for _ in range(20):
        members = (0, 2, 3)
        numbers = np.concatenate([odd, rng.standard_normal(4) * 10.0 ** rng.integers(-300, 300, 4)])
        square, wide = (rng.choice(numbers, size=(3, columns)) for columns in (3, 5))
        wide = np.asfortranarray(wide)
        sketch = sketch_of(rng.permutation(numbers))
        given = decoupled_set("acd", numbers, square, -square, wide, wide[::-1], sketch)
        assert_same_bits(through_json(published_codecs("abcde", 4)["sets"], members, given), given)
        log_pvalue, ess, left = (float(number) for number in rng.choice(numbers[1:], size=3))
        weights = SampleWeights(np.empty(0), ess, left, ess, 0.0, "ess_floor", sketch=sketch)
        interaction = Interaction((0, 3), (1, 2), log_pvalue, left, ess, left)
        result = (log_pvalue, Record({(1, 2): weights}, {(0, 3, (1, 2)): interaction}))
        back, record = through_json(robust_codecs(5, 4)["edges"], (0, 3, 1, 2), result)
        assert (back, record.interactions) == (log_pvalue, result[1].interactions)
        assert_same_bits(record.balances[1, 2], weights)
        back, record = through_json(robust_codecs(5, 4)["first"], (0, 3, 1, 2), result)
        assert (back, record.interactions) == (log_pvalue, result[1].interactions)
        assert through_json(robust_codecs(5, 4)["first"], (0, 3, 1, 2), (log_pvalue, None)) == (
            log_pvalue,
            None,
        )


def assert_same_bits(found, wanted):
    """Compare two dataclasses, nested ones included; types must agree, except for NumPy numbers."""
    for name, value in vars(wanted).items():
        if dataclasses.is_dataclass(value):
            assert_same_bits(getattr(found, name), value)
        elif isinstance(value, (np.ndarray, float)):
            assert np.asarray(getattr(found, name)).tobytes() == np.asarray(value).tobytes(), name
        else:
            assert getattr(found, name) == value


@pytest.mark.parametrize(
    "change",
    [
        {"ess": "many"},
        {"loss_path": 1.5},
        {"status": 3},
        {"pvalues": "###"},
        {"pvalues": base64.b64encode(bytes(8 * 7)).decode()},
        {"hsic_after": None},
        {"more": 1},
        {"sketch": {}},
        {"sketch": {"shown": base64.b64encode(bytes(8 * 5)).decode()}},
        {"sketch": {"counts": [1]}},
    ],
)
def test_sets_that_nobody_can_have_written_are_refused(change):
    codec = published_codecs("abc", 4)["sets"]
    matrices = (*2 * [np.eye(2)], *2 * [np.ones((2, 3))])
    given = decoupled_set("ac", np.arange(9.0), *matrices, sketch_of(np.arange(9.0)))
    written = codec.write(given)
    assert codec.read((0, 2), written).variables == ("a", "c")
    if change.get("sketch"):
        change = {"sketch": {**written["sketch"], **change["sketch"]}}
    with pytest.raises(DAMAGE):
        codec.read((0, 2), {**written, **change})
    with pytest.raises(DAMAGE):
        codec.read((0, 3), written)


@pytest.mark.parametrize(
    "change",
    [
        {"log_pvalue": "small"},
        {"log_pvalue": [0.0]},
        {"balances": [{"members": [0, 9]}]},
        {"balances": [[[0, 9], {}]]},
        {"interactions": [{"pair": [0, 1]}]},
        {"interactions": 3},
        {"more": 1},
    ],
)
def test_tests_of_edges_that_nobody_can_have_written_are_refused(change):
    codec = robust_codecs(4, 0)["edges"]
    written = json.loads(json.dumps(codec.write((-3.0, Record()))))
    assert codec.read((0, 1), written) == (-3.0, Record())
    with pytest.raises(DAMAGE):
        codec.read((0, 1), {**written, **change})


def test_digests_tell_tables_apart_and_know_them_again():
    table = interacting_table(n=40_000)  # several blocks of rows
    first = digest_of(read_columns(table))
    assert digest_of(read_columns(table[list(table)[::-1]])) == first
    assert digest_of(read_columns(table.replace(0.0, -0.0))) == first
    seen = {first}
    for row in (0, 16_383, 16_384, 39_999):
        changed = table.copy()
        changed.loc[row, "d"] += 1e-9
        seen.add(digest_of(read_columns(changed)))
    swapped = table.rename(columns={"a": "b", "b": "a"})
    seen.add(digest_of(read_columns(swapped)))
    seen.add(digest_of(read_columns(table.iloc[::-1])))
    assert len(seen) == 7
