"""Gram matrices of parts of the rows, against columns of these rows normalised by hand."""

import pickle
from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest

from dcd.features import subsamples
from dcd.features.gram_columns import TableColumns, categories, columns_of, family_gram
from dcd.features.rank_scores import make_scores, scores_of
from dcd.features.subsamples import N_CHOSEN, N_GROUPS, Subsamples, row_parts
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table


def numbers(n=300, seed=0, d=4):
    values = np.random.default_rng(seed).standard_normal((n, d))
    values[:, -1] += values[:, 0] * values[:, 1]
    return pd.DataFrame(np.exp(values), columns=list("abcdefgh")[:d])


def with_letters(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return numbers(n, seed, 3).assign(
        town=rng.choice(["Oslo", "Rome", "Köln"], n), flag=rng.random(n) < 0.4, grade=rng.integers(1, 5, n)
    )


def with_gaps(n=400, seed=0, share=0.1):
    frame = numbers(n, seed)
    return frame.mask(np.random.default_rng(seed + 1).random(frame.shape) < share)


def weights_of(n, seed=0):
    return np.random.default_rng(seed).uniform(0.2, 3.0, n)


def parts_of(dataset, seed=0):
    """The columns of a table, and its parts."""
    scores = None if dataset.has_gaps else scores_of(dataset)
    columns = columns_of(dataset, scores)
    counted = None if scores is None else categories(scores)
    return columns, counted, Subsamples(columns, counted, np.random.default_rng(seed))


def rows_of_draw(columns, seed, n_chosen=N_CHOSEN, seed_of_groups=0):
    """The rows of the groups that a draw with this seed chooses."""
    groups = row_parts(columns, np.random.default_rng(seed_of_groups))
    chosen = np.random.default_rng(seed).choice(N_GROUPS, size=n_chosen, replace=False)
    return np.concatenate([groups[group] for group in chosen])


def orthonormal(columns, shares):
    """Gram and Schmidt, one column after another; columns that depend on those before are zero."""
    made = []
    for column in columns.T:
        rest = column - shares @ column
        for one in made:
            rest = rest - (shares * one) @ rest * one
        size = np.sqrt(shares @ np.square(rest))
        made.append(rest / size if size > 1e-4 else np.zeros_like(rest))
    return np.column_stack(made)


def gram_by_hand(columns, gram, rows):
    """The Gram matrix of lines, curves and products of two over some rows, which count for all."""
    whole = columns.rows(slice(0, len(columns.probabilities)))[rows, 1:]
    shares = columns.probabilities[rows] / columns.probabilities[rows].sum()
    blocks = [orthonormal(whole[:, a:b], shares) for a, b in pairwise(gram.starts)]
    products = np.unique(gram.product[gram.product >= 0])
    single = whole[:, products] - shares @ whole[:, products]
    made = np.hstack([*blocks, single / np.sqrt(shares @ np.square(single))])
    compared = np.concatenate([np.arange(gram.starts[-1]), products])
    return columns.n_samples * made.T @ (shares[:, None] * made), np.ix_(compared, compared)


TABLES = {
    "numbers": lambda seed: read_table(numbers(seed=seed)),
    "weights": lambda seed: read_table(numbers(seed=seed), sample_weight=weights_of(300, seed)),
    "letters": lambda seed: read_table(with_letters(seed=seed)),
    "letters and weights": lambda seed: read_table(
        with_letters(seed=seed), sample_weight=weights_of(300, seed)
    ),
    "gaps": lambda seed: read_table(with_gaps(seed=seed), options=TableOptions(missing="testwise")),
    "gaps and weights": lambda seed: read_table(
        with_gaps(seed=seed), options=TableOptions(missing="testwise"), sample_weight=weights_of(400, seed)
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_all_groups_together_are_the_table(name, monkeypatch):
    monkeypatch.setattr(subsamples, "N_CHOSEN", N_GROUPS)
    for seed in range(2):
        columns, counted, parts = parts_of(TABLES[name](seed), seed)
        gram, shares = parts.draw(np.random.default_rng(0))
        whole = family_gram(columns)
        np.testing.assert_allclose(gram.gram, whole.gram, atol=1e-7 * whole.n_samples)
        assert gram.n_samples == whole.n_samples
        if counted is not None:
            np.testing.assert_allclose(shares, counted.weights / counted.weights.sum())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["numbers", "weights", "letters", "letters and weights"])
def test_a_part_is_the_matrix_of_its_rows(name, seed):
    columns, _, parts = parts_of(TABLES[name](seed), seed)
    gram, _ = parts.draw(np.random.default_rng(seed + 50))
    wanted, compared = gram_by_hand(columns, gram, rows_of_draw(columns, seed + 50, seed_of_groups=seed))
    np.testing.assert_allclose(gram.gram[compared], wanted, atol=1e-6 * columns.n_samples)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", ["gaps", "gaps and weights"])
def test_with_gaps_an_entry_is_the_mean_over_the_rows_that_have_both(name, seed):
    """Before columns are made orthonormal: a correlation of lines, with sums computed by hand."""
    dataset = TABLES[name](seed)
    columns, _, parts = parts_of(dataset, seed)
    gram, shares = parts.draw(np.random.default_rng(seed))
    assert shares is None
    rows = rows_of_draw(columns, seed, seed_of_groups=seed)
    shares, present = dataset.probabilities[rows], np.isfinite(dataset.values[rows])
    lines = columns.rows(slice(0, len(dataset.values)))[rows][:, 4 + gram.starts[:-1]]
    assert (lines[~present] == 0).all()
    for u in range(4):
        for v in range(4):
            both = shares * present[:, u] * present[:, v]
            square = np.sqrt(np.prod([shares @ lines[:, w] ** 2 / (shares @ present[:, w]) for w in (u, v)]))
            wanted = both @ (lines[:, u] * lines[:, v]) / both.sum() / square
            found = gram.gram[gram.starts[u], gram.starts[v]] / gram.n_samples
            # The matrix of such means is made positive, which changes its entries a little.
            assert found == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("weighted", [False, True])
def test_categories_are_counted_in_the_rows_of_the_part(weighted):
    frame = with_letters(seed=3)
    weights = weights_of(300, 3) if weighted else np.ones(300)
    dataset = read_table(frame, sample_weight=weights if weighted else None)
    columns, counted, parts = parts_of(dataset)
    _, shares = parts.draw(np.random.default_rng(1))
    rows = rows_of_draw(columns, 1)
    assert len(rows) == 300 * N_CHOSEN // N_GROUPS
    by_hand = Counter()
    for row in rows:
        by_hand[tuple(frame.iloc[row][["town", "flag", "grade"]])] += weights[row]
    assert len(shares) == len(counted.weights)
    for combination, share in enumerate(shares):
        (row, *_) = np.flatnonzero(counted.combination == combination)
        wanted = by_hand[tuple(frame.iloc[row][["town", "flag", "grade"]])] / weights.sum()
        assert share == pytest.approx(wanted)


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
def test_groups_hold_every_row_once_however_few_or_many():
    for n in (10, 19, 20, 21, 300):
        columns, _, parts = parts_of(read_table(numbers(n)))
        groups = row_parts(columns, np.random.default_rng(0))
        assert sorted(np.concatenate(groups).tolist()) == list(range(n))
        gram, _ = parts.draw(np.random.default_rng(0))
        assert np.isfinite(gram.gram).all()


def test_of_more_rows_than_a_sample_has_all_are_used(monkeypatch):
    """A sample of the rows that counts for all would mistake its noise for effects."""
    monkeypatch.setattr(subsamples, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(subsamples, "N_CHOSEN", N_GROUPS)
    scores = make_scores(numbers(1000).to_numpy())
    blocks = tuple(slice(start, min(start + 130, 1000)) for start in range(0, 1000, 130))
    columns = TableColumns(replace(scores, blocks=blocks))
    gram, _ = Subsamples(columns, None, np.random.default_rng(0)).draw(np.random.default_rng(0))
    np.testing.assert_allclose(gram.gram, family_gram(columns).gram, atol=1e-4)


def all_groups(n, seed, monkeypatch, groups=None, **options):
    """Columns of n rows, the Gram matrix of all groups, and its largest difference from that of the rows."""
    for name, value in {"_FEWEST_ROWS": 400, "_ROWS_A_SAMPLE": 20, "N_CHOSEN": N_GROUPS}.items():
        monkeypatch.setattr(subsamples, name, value)
    columns = columns_of(read_table(numbers(n, seed), groups=groups))
    parts = Subsamples(columns, None, np.random.default_rng(seed), **options)
    gram, _ = parts.draw(np.random.default_rng(0))
    assert gram.n_samples == columns.n_samples
    return columns, gram, float(np.abs(gram.gram - family_gram(columns).gram).max() / columns.n_samples)


@pytest.mark.parametrize("seed", range(3))
def test_if_few_of_many_rows_count_the_groups_are_those_of_a_sample(seed, monkeypatch):
    columns, gram, difference = all_groups(2000, seed, monkeypatch, n_counted=30.0)
    assert difference > 1e-3
    groups = row_parts(columns, np.random.default_rng(seed))
    rows = np.concatenate([rows[: 600 // N_GROUPS] for rows in groups])
    wanted, compared = gram_by_hand(columns, gram, rows)
    np.testing.assert_allclose(gram.gram[compared], wanted, atol=1e-6 * columns.n_samples)
    # At least 400 rows, however few count; if all count, or rows belong together, all are used.
    fewer = all_groups(2000, seed, monkeypatch, n_counted=1.0)[1]
    wanted, compared = gram_by_hand(columns, fewer, np.concatenate([rows[:20] for rows in groups]))
    np.testing.assert_allclose(fewer.gram[compared], wanted, atol=1e-6 * columns.n_samples)
    for options in ({}, {"n_counted": 100.0}, {"n_counted": 30.0, "groups": np.arange(2000) // 4}):
        assert all_groups(2000, seed, monkeypatch, **options)[2] < 1e-7


def test_the_number_of_threads_changes_no_digit():
    columns = columns_of(read_table(numbers(1000)))
    one, two = (Subsamples(columns, None, np.random.default_rng(0), n_jobs=n_jobs) for n_jobs in (1, 2))
    rng = np.random.default_rng
    np.testing.assert_array_equal(one.draw(rng(1))[0].gram, two.draw(rng(1))[0].gram)


@pytest.mark.parametrize("name", ["numbers", "weights", "letters", "gaps"])
def test_the_order_of_the_rows_does_not_matter(name):
    frame = {"letters": with_letters(), "gaps": with_gaps()}.get(name, numbers())
    frame = pd.concat([frame, frame.iloc[:20]])  # rows may occur twice
    weights = weights_of(len(frame)) if name == "weights" else None
    shuffle = np.random.default_rng(5).permutation(len(frame))
    drawn = []
    for order in (np.arange(len(frame)), shuffle):
        dataset = read_table(
            frame.iloc[order],
            options=TableOptions(missing="testwise"),
            sample_weight=None if weights is None else weights[order],
        )
        drawn.append(parts_of(dataset)[2].draw(np.random.default_rng(0))[0])
    kept = drawn[0].starts[:-1][drawn[0].n_line == 1]  # which level of a category comes first may differ
    first, second = (one.gram[np.ix_(kept, kept)] for one in drawn)
    np.testing.assert_allclose(first, second, atol=1e-6 * drawn[0].n_samples)


@pytest.mark.parametrize("seed", range(3))
def test_nor_does_it_with_equally_frequent_categories(seed):
    """As in a designed experiment: every level of every factor occurs in the same number of rows."""
    grid = pd.DataFrame(product("ab", "xyz", "pq"), columns=["one", "two", "three"])
    frame = pd.concat([grid] * 15, ignore_index=True)
    dealt = []
    for order in (np.arange(len(frame)), np.random.default_rng(seed).permutation(len(frame))):
        shuffled = frame.iloc[order].reset_index(drop=True)
        columns = parts_of(read_table(shuffled))[0]
        groups = row_parts(columns, np.random.default_rng(seed))
        dealt.append([sorted(map(tuple, shuffled.iloc[rows].to_numpy())) for rows in groups])
    assert dealt[0] == dealt[1]


def test_parts_differ_and_are_those_of_their_seeds():
    _, _, parts = parts_of(read_table(numbers()))
    first, again, other = (parts.draw(np.random.default_rng(seed))[0].gram for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1.0


def test_a_level_that_a_part_lacks_has_no_column(monkeypatch):
    """Categories of five rows are missing in some small parts."""
    monkeypatch.setattr(subsamples, "N_CHOSEN", 6)
    frame = numbers(100).assign(rare=["x"] * 5 + ["y"] * 5 + ["z"] * 90)
    dataset = read_table(frame)
    columns, counted, parts = parts_of(dataset)
    position = dataset.names.index("rare")
    lacking = 0
    for seed in range(30):
        gram, shares = parts.draw(np.random.default_rng(seed))
        assert np.isfinite(gram.gram).all()
        present = set(frame["rare"].iloc[rows_of_draw(columns, seed, 6)])
        block = slice(*gram.starts[position : position + 2])
        n_columns = np.sum(np.diag(gram.gram[block, block]) > 0.5 * gram.n_samples)
        assert n_columns == len(present) - 1
        assert np.sum(np.bincount(counted.codes[position], shares) > 0) == len(present)
        lacking += len(present) < 3
    assert lacking > 0


def test_sums_that_are_too_large_are_not_kept(monkeypatch):
    columns, _, _ = parts_of(read_table(numbers()))
    assert Subsamples.fits(columns)
    monkeypatch.setattr(subsamples, "_MOST_BYTES", 8 * N_GROUPS * columns.width**2 - 1)
    assert not Subsamples.fits(columns)


@pytest.mark.parametrize("frame", [numbers(20_000, d=3), with_letters(20_000), with_gaps(20_000)])
def test_parts_keep_sums_and_no_rows(frame):
    columns, counted, parts = parts_of(read_table(frame, options=TableOptions(missing="testwise")))
    sums = 8 * N_GROUPS * columns.width**2
    counts = 0 if counted is None else 16 * N_GROUPS * len(counted.weights)
    size = len(pickle.dumps(parts))
    assert sums < size < sums + counts + 8_000 < len(pickle.dumps(columns)) / 2
    again = pickle.loads(pickle.dumps(parts))
    gram, other = (one.draw(np.random.default_rng(3))[0].gram for one in (parts, again))
    np.testing.assert_array_equal(gram, other)
