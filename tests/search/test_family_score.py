"""Scores of families, against densities of dense matrices and counts in plain Python."""

from collections import Counter
from itertools import combinations_with_replacement, permutations, product
from math import lgamma

import numpy as np
import pandas as pd
import pytest
from scipy.stats import matrix_normal, multivariate_normal
from support.known_graphs import all_dags
from support.score_models import counted_model, model_of, one_more, score_of, simpler_forms

from dcd.features.gram_columns import TableColumns, categories, family_gram
from dcd.features.rank_scores import make_scores, scores_of
from dcd.graph.equivalence import dag_to_cpdag
from dcd.search.score_model import MOST_SAMPLES, edge_price, score_model, with_samples
from dcd.table.reading import read_table

DECAY = 0.7**0.5  # of prior standard deviations from one column of a curve to the next
ABSENT = 1e7  # price of a required parent that a family lacks


def curved_values(n=150, d=4, seed=0):
    """Curves and a product among them; the last on a scale that is far from normal."""
    values = np.random.default_rng(seed).standard_normal((n, d))
    values[:, 1] += np.square(values[:, 0])
    values[:, 2] += values[:, 0] * values[:, 1]
    values[:, 3] = np.exp(values[:, 3] + values[:, 0])
    return values


def rows_of(model):
    """A matrix of n rows with the Gram matrix of the model: equivalent to the columns of the table."""
    n = round(model.n_samples)
    values, vectors = np.linalg.eigh(model.gram)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    return np.vstack([root, np.zeros((n - len(root), len(root)))])


def columns_and_scales(model, child, parents, curved, *, crossed):
    """Which columns a family regresses on, and the standard deviations of their coefficients."""
    columns, scales = [], []
    for parent, curve in zip(parents, curved, strict=True):
        n_line = model.n_line[parent]
        for index in range(model.starts[parent + 1] - model.starts[parent] if curve else n_line):
            columns.append(model.starts[parent] + index)
            is_line = index < n_line
            scales.append(
                model.sd_line[child] if is_line else model.sd_curve[child] * DECAY ** (index - n_line)
            )
    for a in range(len(parents)):
        for b in range(a):
            if crossed and model.product[parents[a], parents[b]] >= 0:
                columns.append(model.product[parents[a], parents[b]])
                scales.append(model.sd_curve[child])
    if crossed == 2:
        for triple in combinations_with_replacement(parents, 3):
            if len(set(triple)) > 1 and model.cubic[triple] >= 0:
                columns.append(model.cubic[triple])
                scales.append(model.sd_curve[child] * DECAY**2)
    return columns, np.array(scales)


def log_evidence(y, x, scales):
    """The normal log density of y at the best variance of the noise, relative to no regressors."""

    def density(covariance):
        variance = y @ np.linalg.solve(covariance, y) / len(y)
        return multivariate_normal.logpdf(y, cov=variance * covariance)

    return density(np.eye(len(y)) + (x * scales**2) @ x.T) - density(np.eye(len(y)))


FORMS = [
    ([0], [False], 0),
    ([0], [True], 0),
    ([0, 1], [True, False], 0),
    ([0, 1], [False, False], 1),
    ([1, 0, 3], [True, False, True], 1),
    ([1, 0], [True, False], 2),
    ([1, 0, 3], [True, False, True], 2),
]


@pytest.mark.parametrize(("parents", "curved", "crossed"), FORMS)
def test_the_evidence_is_a_density_of_a_dense_normal_distribution(parents, curved, crossed):
    model = model_of(curved_values())
    model = model._replace(raw=np.full(4, -1), promising=np.ones_like(model.promising))
    rows = rows_of(model)
    columns, scales = columns_and_scales(model, 2, parents, curved, crossed=crossed)
    expected = log_evidence(rows[:, model.starts[2]], rows[:, columns], scales)
    score = score_of(model, 2, parents, curved, crossed=crossed)
    assert score + len(parents) * model.edge_price == pytest.approx(expected, abs=1e-6)


def test_a_child_on_its_own_scale_pays_for_not_being_normal():
    model = model_of(curved_values())
    assert model.raw[3] >= 0
    rows = rows_of(model)
    columns, scales = columns_and_scales(model, 3, [0], [False], crossed=0)
    own = log_evidence(rows[:, model.raw[3]], rows[:, columns], scales) + model.raw_offset[3]
    line = log_evidence(rows[:, model.starts[3]], rows[:, columns], scales)
    for offset in (0.0, line - own + 5.0):  # worse, and better than the line
        shifted = model._replace(raw_offset=model.raw_offset + offset)
        found = score_of(shifted, 3, [0]) + model.edge_price
        assert found == pytest.approx(max(line, own + offset), abs=1e-6)


def mixed_model(n=200, seed=0, *, counted=False):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, n))
    town = np.array(list("pqrs"))[np.digitize(x + 0.5 * rng.standard_normal(n), [-1, 0, 1])]
    scores = scores_of(read_table(pd.DataFrame({"x": x, "y": y, "town": town, "flag": x > y})))
    anything = np.ones((4, 4), dtype=bool)
    counts = categories(scores) if counted else None
    return score_model(family_gram(TableColumns(scores)), counts, allowed=anything, required=~anything)


@pytest.mark.parametrize("curve", [False, True])
def test_a_category_as_effect_is_a_normal_matrix(curve):
    """Its indicators together; the best covariance between them, of the noise."""
    model = mixed_model()
    rows = rows_of(model)
    y = rows[:, model.starts[2] : model.starts[3]]
    columns, scales = columns_and_scales(model, 2, [0], [curve], crossed=0)

    def density(among_rows):
        between = y.T @ np.linalg.solve(among_rows, y) / len(y)
        return matrix_normal.logpdf(y, rowcov=among_rows, colcov=between)

    x = rows[:, columns]
    expected = density(np.eye(len(y)) + (x * scales**2) @ x.T) - density(np.eye(len(y)))
    assert score_of(model, 2, [0], [curve]) + model.edge_price == pytest.approx(expected, abs=1e-6)


def test_a_category_as_cause_enters_with_all_its_indicators():
    model = mixed_model()
    rows = rows_of(model)
    columns, scales = columns_and_scales(model, 0, [2], [False], crossed=0)
    assert len(columns) == 3
    expected = log_evidence(rows[:, model.starts[0]], rows[:, columns], scales)
    assert score_of(model, 0, [2]) + model.edge_price == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_one_more_parent_scores_as_the_best_form_from_scratch(seed):
    """`one_more` extends the regression on the others; `family_score` starts from scratch."""
    model = model_of(curved_values(d=5, seed=seed))
    model = model._replace(may_curve=np.ones(5, dtype=bool), may_cross=np.full(5, 2))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        child, *parents = rng.permutation(5)[: rng.integers(2, 6)].tolist()
        forms = (rng.random(len(parents) - 1) < 0.5).tolist()
        crossed = int(rng.integers(3)) if len(parents) > 2 else 0
        found, curve, cross = one_more(model, child, parents, forms, crossed)
        tried = {
            (new, products): score_of(model, child, parents, [*forms, new], crossed=products)
            for new in (False, True)
            for products in ([crossed] if crossed else [0, 1][: len(parents)])
        }
        assert found == pytest.approx(max(tried.values()), abs=1e-8)
        assert tried[curve, cross] == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_leaving_out_and_changing_forms_score_as_from_scratch(seed):
    """`best_removal` and `best_form` take columns out of one regression; `family_score` starts anew."""
    model = model_of(curved_values(d=5, seed=seed))
    model = model._replace(may_curve=np.ones(5, dtype=bool), may_cross=np.full(5, 2))
    rng = np.random.default_rng(seed)
    for _ in range(20):
        child, *parents = rng.permutation(5)[: rng.integers(3, 6)].tolist()
        forms, crossed, count = (rng.random(len(parents)) < 0.5).tolist(), int(rng.integers(3)), len(parents)
        removal, other_form = simpler_forms(model, child, parents, forms, crossed)
        fewer, out, products = removal.score, removal.where, removal.crossed
        removals = {
            (at, cross): score_of(model, child, *without(at, parents, forms), crossed=cross)
            for at in range(count)
            for cross in range(crossed + 1 if count > 2 else 1)
        }
        assert fewer == pytest.approx(max(removals.values()), abs=1e-8)
        assert removals[out, products] == pytest.approx(fewer, abs=1e-8)
        other, changed, products = other_form.score, other_form.where, other_form.crossed
        changes = {
            (at, crossed): score_of(model, child, parents, toggled(at, forms), crossed=crossed)
            for at in range(count)
        } | {(-1, c): score_of(model, child, parents, forms, crossed=c) for c in range(3) if c != crossed}
        assert other - count * model.edge_price == pytest.approx(max(changes.values()), abs=1e-8)
        assert changes[changed, products] == pytest.approx(max(changes.values()), abs=1e-8)


def without(at, *lists):
    return [values[:at] + values[at + 1 :] for values in lists]


def toggled(at, forms):
    return [form != (index == at) for index, form in enumerate(forms)]


def test_the_order_of_parents_does_not_matter():
    model = model_of(curved_values())
    scores = [
        score_of(model, 3, list(parents), [parent == 1 for parent in parents], crossed=2)
        for parents in permutations(range(3))
    ]
    np.testing.assert_allclose(scores, scores[0], atol=1e-8)


def test_prices_of_parents_of_colliders_and_of_what_is_required():
    values = curved_values()
    required = np.zeros((4, 4), dtype=bool)
    required[1, 2] = True
    free, bound = model_of(values), model_of(values, required=required)._replace(collider_price=7.0)
    for parents, extra in (([], -ABSENT), ([1], 0.0), ([0], -ABSENT), ([0, 1], -7.0), ([0, 1, 3], -14.0)):
        assert score_of(bound, 2, parents) - score_of(free, 2, parents) == pytest.approx(extra, abs=1e-6)
    assert score_of(free, 0, []) == 0.0
    assert [edge_price(d) for d in (1, 2)] == [1.0, 1.0]
    assert edge_price(100) == pytest.approx(2 * np.log(100) - 1)


def test_evidence_for_an_edge_grows_with_the_sample_and_noise_has_none():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2000, 3))
    values[:, 1] += 0.5 * values[:, 0]
    few, many = model_of(values[:200]), model_of(values)
    assert score_of(many, 1, [0]) > 5 * score_of(few, 1, [0]) > 0
    assert score_of(many, 1, [2]) < 0


@pytest.mark.parametrize("seed", range(3))
def test_with_curves_the_likelihood_counts_a_limited_number_of_samples(seed):
    few, many = (model_of(curved_values(n=n, seed=seed)) for n in (1000, 6000))
    assert few.n_samples == pytest.approx(1000)
    assert many.n_samples == pytest.approx(MOST_SAMPLES)
    assert np.diag(many.gram)[: many.starts[-1]] == pytest.approx(MOST_SAMPLES)


@pytest.mark.parametrize("seed", range(8))
def test_linear_tables_count_every_sample_and_keep_lines_alone(seed):
    values = np.random.default_rng(seed).standard_normal((6000, 4))
    for effect in (1, 2, 3):
        values[:, effect] += 0.8 * values[:, effect - 1]
    model = model_of(values)
    assert model.n_samples == pytest.approx(6000)
    assert len(model.gram) == 4
    z = family_gram(TableColumns(make_scores(values)))
    np.testing.assert_allclose(model.gram, z.gram[np.ix_(z.starts[:-1], z.starts[:-1])])
    assert model.edge_price == edge_price(4, 0.0)


# --- categories ------------------------------------------------------------------------------------------


def test_a_counted_child_takes_other_parents_by_what_they_add_to_a_regression():
    """BDeu of the parents with few levels; the others contribute their gain in a regression on all."""
    model = mixed_model(counted=True)
    regressed = mixed_model()
    assert model.n_levels.tolist() == [0, 0, 4, 2]
    added = score_of(regressed, 2, [3, 0]) - score_of(regressed, 2, [3]) + regressed.edge_price
    both, one = evidence_of(model, 2, [0, 3]), evidence_of(model, 2, [3])
    assert not model.may_curve[2:].any()  # a number enters as a line only, as categories do for numbers
    shared = model._replace(sd_line=regressed.sd_line, sd_curve=regressed.sd_curve)
    assert evidence_of(shared, 2, [0, 3]) - evidence_of(shared, 2, [3]) == pytest.approx(added, abs=1e-6)
    assert both > one


def some_codes(n=300, seed=0, levels=(2, 3, 2, 4)):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, k, n) for k in levels])
    codes[:, 2] = np.where(rng.random(n) < 0.7, codes[:, 0], codes[:, 2])
    return codes


def evidence_of(model, child, parents):
    """The score of a counted child without the price of its parents: half for one that is counted too."""
    shares = [0.5 if model.n_levels[parent] else 1.0 for parent in parents]
    return score_of(model, child, parents) + sum(shares) * model.edge_price


def bdeu_by_hand(codes, child, parents, sample_size=1.0):
    """Heckerman, Geiger and Chickering 1995, Eq. 28 with equal shares for all configurations."""
    levels = codes.max(axis=0) + 1
    counts = Counter((tuple(row[parents]), row[child]) for row in codes)
    total = 0.0
    share = sample_size / np.prod(levels[parents], dtype=float)
    for configuration in product(*(range(levels[parent]) for parent in parents)):
        cells = [counts[configuration, level] for level in range(levels[child])]
        total += lgamma(share) - lgamma(share + sum(cells))
        total += sum(lgamma(share / len(cells) + cell) - lgamma(share / len(cells)) for cell in cells)
    return total


@pytest.mark.parametrize("parents", [[0], [3, 0], [3, 1, 0]])
def test_categories_score_as_bdeu_by_hand(parents):
    codes = some_codes()
    expected = bdeu_by_hand(codes, 2, parents) - bdeu_by_hand(codes, 2, [])
    assert evidence_of(counted_model(codes), 2, parents) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_configurations_that_do_not_occur_change_nothing(seed):
    """3,750 configurations of 60 rows: only those that occur are counted, in any order of the parents."""
    codes = np.random.default_rng(seed).integers(0, (2, 5, 6, 5, 5, 5), (60, 6))
    model, expected = counted_model(codes), bdeu_by_hand(codes, 0, [1, 2, 3, 4, 5])
    for parents in ([1, 2, 3, 4, 5], [5, 3, 1, 4, 2]):
        total = evidence_of(model, 0, parents) + bdeu_by_hand(codes, 0, [])
        assert total == pytest.approx(expected, abs=1e-8)


def test_scores_of_categories_are_known_again_to_the_last_digit():
    """In any order of the parents, cached or not; other row weights have their own scores."""
    codes = some_codes()
    model, again = counted_model(codes), counted_model(codes)
    first = score_of(model, 2, [0, 1, 3])
    assert first == score_of(model, 2, [3, 1, 0]) == score_of(again, 2, [1, 3, 0])
    shares = np.arange(1.0, 1.0 + len(model.weights))
    gram = family_gram(TableColumns(make_scores(np.random.default_rng(0).standard_normal((50, 4)))))
    other = with_samples(model, gram, shares)
    assert score_of(other, 2, [0, 1, 3]) != first
    assert score_of(model, 2, [0, 1, 3]) == first


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_categories_score_as_bdeu_of_pgmpy():
    estimators = pytest.importorskip("pgmpy.estimators")
    codes = some_codes()
    theirs = estimators.BDeu(pd.DataFrame(codes, columns=list("abcd")), equivalent_sample_size=1)
    model = counted_model(codes)
    for parents in ([0], [3, 0], [3, 1, 0]):
        expected = theirs.local_score("c", ["abcd"[v] for v in parents]) - theirs.local_score("c", [])
        assert evidence_of(model, 2, parents) == pytest.approx(expected, abs=1e-6)


def test_equivalent_graphs_of_categories_have_the_same_score():
    model = counted_model(some_codes())
    by_class = {}
    for dag in all_dags(4):
        total = sum(score_of(model, v, np.flatnonzero(dag[:, v]).tolist()) for v in range(4))
        by_class.setdefault(dag_to_cpdag(dag).tobytes(), []).append(total)
    for totals in by_class.values():
        np.testing.assert_allclose(totals, totals[0], atol=1e-8)
    assert len({round(totals[0], 6) for totals in by_class.values()}) == len(by_class) == 185


def test_a_combination_of_weight_three_counts_as_three_rows():
    codes = some_codes(100)
    counts = np.random.default_rng(1).integers(1, 4, 100)
    weighted, repeated = (
        counted_model(codes, counts.astype(float)),
        counted_model(np.repeat(codes, counts, axis=0)),
    )
    assert score_of(weighted, 2, [0, 1]) == pytest.approx(score_of(repeated, 2, [0, 1]))


def test_too_many_configurations_are_out_of_the_question():
    codes = np.random.default_rng(0).integers(0, 20, (500, 7))
    assert score_of(counted_model(codes), 0, [1, 2, 3, 4, 5, 6]) < -1e6
