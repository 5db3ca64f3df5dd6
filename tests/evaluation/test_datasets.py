import numpy as np

import dcd


def test_sachs_is_what_it_says():
    data = dcd.datasets.load_sachs()
    assert data.frame.shape == (853, 11)
    assert data.dag.to_numpy().sum() == 17
    assert data.dag.loc["Raf", "Mek"] == 1
    assert list(data.dag.columns) == list(data.frame.columns) == list(data.cpdag.names)
    assert data.cpdag.directed_edges == ()
    assert len(data.cpdag.undirected_edges) == 17
    assert "Science" in data.description
    np.testing.assert_allclose(np.exp(data.frame), dcd.datasets.load_sachs(log=False).frame)


def test_sachs_by_dcd_is_better_than_chance():
    """8 of the 55 pairs at random would be right with probability 17/55 each."""
    data = dcd.datasets.load_sachs()
    score = dcd.metrics.compare(data.cpdag, dcd.DCD().fit(data.frame).cpdag_)
    assert score.skeleton_precision > 0.6
    assert score.skeleton_shd <= 13
