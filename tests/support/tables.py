"""Small tables, and the checks of scikit-learn that do not apply to estimators here."""

from contextlib import suppress
from unittest import SkipTest

import numpy as np
import pandas as pd
from sklearn.utils.estimator_checks import estimator_checks_generator

from dcd.evaluation import simulate
from dcd.graph.adjacency import topological_order


def collider_with_bystanders(n, seed):
    """a -> c <- b, c -> d, and e unrelated; enough noise for weights to decouple the variables."""
    rng = np.random.default_rng(seed)
    a, b, e = rng.standard_normal((3, n))
    c = a + b + rng.standard_normal(n)
    d = c + 2.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e})


def assert_contract_of_scikit_learn(estimator):
    """All checks that apply; the others are not started, since some take long."""
    for candidate, check in estimator_checks_generator(
        estimator,
        expected_failed_checks=NOT_APPLICABLE | (OF_GRAPHS if hasattr(estimator, "score") else {}),
        mark="skip",
    ):
        with suppress(SkipTest):
            check(candidate)


_SCORE = "a graph is scored against a true graph, not against X and y"
OF_GRAPHS = dict.fromkeys(
    ["check_fit_score_takes_y", "check_n_features_in_after_fitting", "check_pipeline_consistency"], _SCORE
)
NOT_APPLICABLE = {
    "check_dtype_object": "text among numbers is an InputError that names the column, not a TypeError",
    "check_sample_weight_equivalence_on_dense_data": "rows have survey weights, not counts: two rows of "
    "weight 1 tell more than one of weight 2",
    "check_sample_weight_equivalence_on_sparse_data": "a sparse matrix is refused",
    "check_sample_weights_shape": "its y is a copy of a column of X, which is refused",
    "check_sample_weights_not_overwritten": "its y is a copy of a column of X, which is refused",
}


def linear(dag, seed, n=2000, weight=1.0):
    rng = np.random.default_rng(seed)
    values = np.zeros((n, len(dag)))
    for node in topological_order(dag):
        values[:, node] = weight * values @ dag[:, node] + rng.standard_normal(n)
    return values


def simulated(seed, d=6, n=300):
    dag = simulate.random_dag(d, random_state=seed)
    values = simulate.sample(dag, n, mechanism="mlp", noise_std=1.0, random_state=seed)
    return pd.DataFrame(values, columns=[f"v{index}" for index in range(d)])


def table(n_rows=200, seed=0):
    """a -> c <- b, c -> d, and an unrelated variable."""
    a, b, c, d, e = np.random.default_rng(seed).standard_normal((5, n_rows))
    c += a + b
    return np.column_stack([a, b, c, c + d, e])


def mixed_table(n=400, seed=0, *, gaps=False):
    """Measurements, grades, truth values, text and ordered categories that depend on each other."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.standard_normal((3, n))
    size = pd.Categorical.from_codes(np.digitize(b, [-0.5, 0.5]), ["small", "medium", "large"], ordered=True)
    frame = pd.DataFrame(
        {
            "sum": a + b + 0.5 * rng.standard_normal(n),
            "a": a,
            "size": size,
            "town": np.where(c + a > 0, "Köln", np.where(c > -1, "Rome", "Oslo")),
            "grade": np.clip(np.round(c + 3), 1, 5).astype(int),
            "flag": rng.random(n) < 1 / (1 + np.exp(-2 * a)),
            "c": c.astype(np.float32),
        }
    )
    if gaps:
        frame.loc[rng.random(n) < 0.05, "a"] = np.nan
        frame.loc[rng.random(n) < 0.05, "town"] = None
    return frame


def parquet_path(frame, folder):
    frame.to_parquet(folder / "t.parquet", row_group_size=90)
    return folder / "t.parquet"
