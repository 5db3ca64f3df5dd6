"""The Gram matrix of a table, against the product of columns built one by one."""

from collections import Counter
from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import ndtri
from scipy.stats import rankdata

from dcd.features.gram_columns import TableColumns, categories, columns_of, family_gram, negentropy
from dcd.features.rank_scores import make_scores, scores_of
from dcd.search.family_score import family_score
from dcd.search.score_model import score_model
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table


def interacting(n, seed, d=4):
    """Normal variables, the last of which depends on the product of the first two."""
    values = np.random.default_rng(seed).standard_normal((n, d))
    values[:, -1] += values[:, 0] * values[:, 1]
    return values


def standardised(columns, shares):
    centred = columns - shares @ columns
    return centred / np.sqrt(shares @ np.square(centred))


def orthonormal(columns, shares):
    """Gram and Schmidt, one column after another; mean squares of 1."""
    made = []
    for column in columns.T:
        rest = column - shares @ column
        for one in made:
            rest = rest - (shares * one) @ rest * one
        made.append(rest / np.sqrt(shares @ np.square(rest)))
    return np.column_stack(made)


def columns_by_hand(values):
    """Normal scores with polynomials of ranks and of normal scores, then products, then the values."""
    n, d = values.shape
    shares = np.full(n, 1 / n)
    u = (stats.rankdata(values, axis=0) - 0.5) / n
    lines = standardised(stats.norm.ppf(u), shares)
    blocks = []
    for v in range(d):
        ranks = [np.polynomial.Legendre.basis(degree)(2 * u[:, v] - 1) for degree in range(2, 7)]
        curve = [*ranks[:2], lines[:, v] ** 2, lines[:, v] ** 3, *ranks[2:]]
        blocks.append(orthonormal(np.column_stack([lines[:, v], *curve]), shares))
    products = [lines[:, i] * lines[:, j] for i in range(d) for j in range(i + 1, d)]
    return np.hstack([*blocks, *(standardised(part, shares) for part in (np.column_stack(products), values))])


@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_product_of_the_columns(seed):
    values = np.exp(interacting(300, seed))
    columns = columns_by_hand(values)
    made = family_gram(TableColumns(make_scores(values)))
    np.testing.assert_allclose(made.gram, columns.T @ columns, atol=1e-7)
    assert made.n_samples == pytest.approx(300)
    assert made.starts.tolist() == [0, 8, 16, 24, 32]
    assert made.n_line.tolist() == [1] * 4
    assert made.product[np.triu_indices(4, 1)].tolist() == list(range(32, 38))
    assert (made.product == made.product.T).all()
    assert (np.diag(made.product) == -1).all()
    assert made.raw.tolist() == [38, 39, 40, 41]  # exponentials are far from normal


def test_any_blocks_of_rows_and_any_number_of_threads_give_the_same():
    scores = make_scores(interacting(500, 0))
    whole = family_gram(TableColumns(scores))
    parts = replace(scores, blocks=tuple(slice(start, start + 125) for start in range(0, 500, 125)))
    np.testing.assert_allclose(family_gram(TableColumns(parts)).gram, whole.gram, atol=1e-8)
    np.testing.assert_array_equal(
        family_gram(TableColumns(parts), n_jobs=2).gram, family_gram(TableColumns(parts), n_jobs=1).gram
    )


def test_a_row_of_weight_two_is_a_row_that_is_there_twice():
    values = interacting(400, 1)
    weights = np.where(np.arange(400) % 3, 1.0, 2.0)
    frame = pd.DataFrame(values, columns=list("abcd")).assign(e=pd.Series(list("pqrs") * 100))
    weighted = family_gram(columns_of(read_table(frame, sample_weight=weights)))
    repeated = family_gram(columns_of(read_table(frame.loc[frame.index.repeat(weights.astype(int))])))
    ess = weights.sum() ** 2 / np.square(weights).sum()
    assert weighted.n_samples == pytest.approx(ess)
    assert repeated.n_samples == pytest.approx(weights.sum())
    # Products of three that are clear in a larger effective sample need not be clear in a smaller one.
    both = (weighted.cubic >= 0) & (repeated.cubic >= 0)
    assert both.any()
    indicators = np.arange(32, 35)  # the order of the levels may differ, but not their span
    rest = [[*range(32), *range(35, 41), *np.unique(made.cubic[both])] for made in (weighted, repeated)]
    rest[0] += range(len(weighted.gram) - 5, len(weighted.gram))
    rest[1] += range(len(repeated.gram) - 5, len(repeated.gram))
    grams = weighted.gram / ess, repeated.gram / weights.sum()
    np.testing.assert_allclose(
        *(gram[np.ix_(chosen, chosen)] for gram, chosen in zip(grams, rest, strict=True)), atol=1e-6
    )
    spanned = [
        np.square(gram[np.ix_(indicators, chosen)]).sum(axis=0)
        for gram, chosen in zip(grams, rest, strict=True)
    ]
    np.testing.assert_allclose(*spanned, atol=1e-6)


def test_products_of_three_are_wicks_and_belong_to_interactions():
    """Their columns against plain arithmetic; normal variables with linear relations have few."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal((2000, 5))
    values[:, 1] += values[:, 0]
    values[:, 4] += 0.5 * values[:, 0] * values[:, 1] * values[:, 2]
    made = family_gram(TableColumns(make_scores(values)))
    column = made.cubic[0, 1, 2]
    assert column >= 0
    assert {int(made.cubic[order]) for order in permutations((0, 1, 2))} == {column}
    z = ndtri((rankdata(values, axis=0) - 0.5) / len(values))
    z /= z.std(axis=0)
    rho = z.T @ z / len(z)
    wick = z[:, 0] * z[:, 1] * z[:, 2] - rho[0, 1] * z[:, 2] - rho[0, 2] * z[:, 1] - rho[1, 2] * z[:, 0]
    wick = (wick - wick.mean()) / wick.std()
    np.testing.assert_allclose(made.gram[column, made.starts[:-1]], wick @ z, atol=1e-6 * len(z))
    np.testing.assert_allclose(made.gram[column, column], len(z))


@pytest.mark.parametrize("seed", range(3))
def test_linear_relations_of_normal_variables_leave_few_products_of_three(seed):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((1000, 6)) @ rng.standard_normal((6, 6))
    kept = np.unique(family_gram(TableColumns(make_scores(values))).cubic)
    assert len(kept) <= 10  # of 50; without Wick's terms nearly all have large moments


@pytest.mark.parametrize("seed", range(3))
def test_products_of_three_have_no_categories_and_those_of_two_have(seed):
    """The effect depends on products of three with and without the category of two levels."""
    rng = np.random.default_rng(seed)
    a, b, c, e = rng.standard_normal((4, 800))
    group = rng.integers(2, size=800)
    effect = a * b * c + (2 * group - 1) * a * b + 0.5 * e
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "effect": effect, "group": np.array(["p", "q"])[group]})
    made = family_gram(columns_of(read_table(frame)))
    assert made.cubic[0, 1, 2] >= 0
    assert (made.cubic[4] == -1).all()
    assert (made.product[4, :4] >= 0).all()


def test_weights_that_are_all_the_same_are_none():
    frame = pd.DataFrame(interacting(300, 2), columns=list("abcd"))
    equal = family_gram(columns_of(read_table(frame, sample_weight=np.full(300, 7.0))))
    np.testing.assert_array_equal(equal.gram, family_gram(columns_of(read_table(frame))).gram)


def test_a_category_spans_its_indicators_whatever_its_levels_are_called():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 300)
    x = codes % 2 + rng.standard_normal(300)
    made = [
        family_gram(columns_of(read_table(pd.DataFrame({"x": x, "c": np.array(list(letters))[codes]}))))
        for letters in ("abcd", "dcab")
    ]
    for table in made:
        assert table.n_line.tolist() == [1, 3]
        assert table.starts.tolist() == [0, 8, 11]
        assert (table.product == -1).all()
        assert table.raw[1] == -1
    line = standardised(stats.norm.ppf((stats.rankdata(x) - 0.5) / 300)[:, None], np.full(300, 1 / 300))[:, 0]
    explained = sum((codes == level).sum() * line[codes == level].mean() ** 2 for level in range(4))
    for table in made:
        assert np.square(table.gram[0, 8:11]).sum() / 300 == pytest.approx(explained)


@pytest.mark.parametrize(("levels", "n_line", "width"), [(4, 3, 3), (5, 4, 4), (6, 1, 5)])
def test_ordered_categories_with_few_levels_enter_whole_and_others_as_a_line_and_a_curve(
    levels, n_line, width
):
    rng = np.random.default_rng(0)
    grade = pd.Categorical.from_codes(rng.integers(0, levels, 300), list("abcdef")[:levels], ordered=True)
    made = family_gram(columns_of(read_table(pd.DataFrame({"x": rng.standard_normal(300), "grade": grade}))))
    assert (made.n_line.tolist(), made.starts.tolist()) == ([1, n_line], [0, 8, 8 + width])
    assert made.product[0, 1] == (-1 if n_line > 1 else 8 + width)


@pytest.mark.parametrize("seed", range(3))
def test_a_number_and_an_ordered_category_explain_each_other_equally_well(seed):
    """With few levels, neither variable has more columns to explain the other."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(800)
    codes = np.digitize(np.abs(x) + rng.normal(scale=0.5, size=800), [0.5, 1.2])
    grade = pd.Categorical.from_codes(codes, list("abc"), ordered=True)
    dataset = read_table(pd.DataFrame({"x": x**2 * np.sign(x) + x, "grade": grade}))
    columns = columns_of(dataset)
    free = ~np.eye(2, dtype=bool)
    model = score_model(
        family_gram(columns), categories(scores_of(dataset)), allowed=free, required=np.zeros((2, 2), bool)
    )
    model = model._replace(sd_line=np.full(2, 0.3))
    line = np.zeros(3, bool)
    of_grade = family_score(model, 1, np.zeros(3, np.int64), line, np.int64(1), np.int64(0))
    of_number = family_score(model, 0, np.ones(3, np.int64), line, np.int64(1), np.int64(0))
    assert of_grade == pytest.approx(of_number, abs=0.5)


# --- products among many variables -----------------------------------------------------------------------


def test_of_many_variables_products_are_kept_that_matter_for_a_third():
    values = np.random.default_rng(0).standard_normal((1000, 40))
    values[:, 39] += 2 * values[:, 5] * values[:, 17]
    product = family_gram(TableColumns(make_scores(values))).product
    assert product[5, 17] >= 0
    assert np.triu(product >= 0).sum() <= 5  # the others of the three, and hardly any by chance


def test_no_more_products_are_kept_than_three_a_variable():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((500, 1)) ** 2 + 0.3 * rng.standard_normal((500, 40))
    kept = family_gram(TableColumns(make_scores(values))).product
    assert np.triu(kept >= 0).sum() == 120


# --- missing values --------------------------------------------------------------------------------------


def with_gaps(seed=0, share=0.1, n=2000):
    values = interacting(n, seed)
    values[:, 1] += values[:, 0]
    frame = pd.DataFrame(values, columns=list("abcd"))
    return frame, frame.mask(np.random.default_rng(seed + 1).random(frame.shape) < share)


def test_with_gaps_every_entry_is_about_that_of_the_whole_table():
    whole, holes = with_gaps()
    complete = family_gram(columns_of(read_table(whole)))
    made = family_gram(columns_of(read_table(holes, options=TableOptions(missing="testwise"))))
    n_columns = complete.starts[-1]
    assert made.gram.shape == (n_columns, n_columns)
    np.testing.assert_allclose(
        made.gram / made.n_samples, complete.gram[:n_columns, :n_columns] / 2000, atol=0.06
    )
    assert (made.product == -1).all()
    assert (made.raw == -1).all()


def test_with_gaps_it_is_still_a_gram_matrix_of_normalised_columns():
    _, holes = with_gaps(share=0.4, n=200)
    made = family_gram(columns_of(read_table(holes, options=TableOptions(missing="testwise"))))
    assert np.linalg.eigvalsh(made.gram).min() > 0
    for v in range(4):
        block = slice(*made.starts[v : v + 2])
        np.testing.assert_allclose(made.gram[block, block] / made.n_samples, np.eye(8), atol=1e-8)
    present = holes.notna().to_numpy(dtype=float)
    assert made.n_samples == pytest.approx((present.T @ present).mean())


def test_where_no_value_is_missing_the_gaps_of_other_columns_change_little():
    whole, _ = with_gaps()
    holes = whole.copy()
    holes.iloc[0, 3] = np.nan
    made = family_gram(columns_of(read_table(holes, options=TableOptions(missing="testwise"))))
    complete = family_gram(columns_of(read_table(whole))).gram[:24, :24]
    np.testing.assert_allclose(made.gram[:24, :24] / made.n_samples, complete / 2000, atol=1e-5)


# --- a table of categories, and the scale of a variable --------------------------------------------------


def letters(n, seed):
    codes = np.random.default_rng(seed).integers(0, 3, (n, 3))
    return pd.DataFrame(np.array(list("xyz"))[codes], columns=list("abc"))


def test_combinations_of_categories_are_counted():
    frame = letters(200, 0)
    made = categories(scores_of(read_table(frame)))
    shown = {tuple(codes): weight for codes, weight in zip(made.codes.T.tolist(), made.weights, strict=True)}
    expected = Counter(tuple("xyz".index(cell) for cell in row) for row in frame.itertuples(index=False))
    assert shown == pytest.approx(dict(expected))
    assert made.n_levels.tolist() == [3, 3, 3]


def test_weighted_categories_have_as_many_samples_as_the_weights_are_worth():
    weights = np.random.default_rng(1).uniform(0.2, 2.0, 200)
    made = categories(scores_of(read_table(letters(200, 0), sample_weight=weights)))
    assert made.weights.sum() == pytest.approx(weights.sum() ** 2 / np.square(weights).sum())


def test_variables_of_few_levels_are_counted_and_others_are_not():
    rng = np.random.default_rng(0)
    frame = letters(300, 0).assign(
        number=np.arange(300.0), grade=rng.integers(0, 4, 300), age=rng.integers(0, 9, 300)
    )
    made = categories(scores_of(read_table(frame)))
    levels = dict(zip(read_table(frame).names, made.n_levels.tolist(), strict=True))
    assert levels == {"a": 3, "b": 3, "c": 3, "number": 0, "grade": 4, "age": 0}
    assert categories(make_scores(rng.standard_normal((100, 3)))) is None


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (stats.norm(), 0.0),
        (stats.uniform(), 0.5 * np.log(2 * np.pi * np.e / 12)),
        (stats.expon(), 0.5 * np.log(2 * np.pi * np.e) - 1),
    ],
)
def test_negentropy_is_that_of_known_distributions(law, known):
    values = law.rvs(5000, random_state=0)
    assert negentropy(values) == pytest.approx(known, abs=0.03)
    assert negentropy(3 - 1e6 * values) == pytest.approx(negentropy(values), abs=1e-9)


def test_the_own_scale_is_kept_where_it_is_far_from_normal():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "normal": rng.standard_normal(500),
            "skew": rng.exponential(size=500),
            "grade": rng.integers(0, 5, 500),
        }
    )
    made = family_gram(TableColumns(scores_of(read_table(frame))))
    assert (made.raw >= 0).tolist() == [False, True, False]
    assert made.raw_offset[1] == pytest.approx(-500 * negentropy(frame["skew"].to_numpy()) - 15)
    assert made.raw_offset[0] == -np.inf
