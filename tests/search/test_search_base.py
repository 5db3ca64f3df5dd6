"""The protocol of searches: a search of the user's own, and what is refused."""

import numpy as np
import pytest
from support.tables import linear

import dcd
from dcd.search.base import SearchOutcome, check_search, target_searches
from dcd.search.selection import grow_shrink


class AssociationGraph:
    """A search of one's own: variables are neighbours if they are associated, whatever lies between."""

    def check(self):
        pass

    def boundary(self, test, target, n_variables, level, required=()):
        near = [
            v for v in range(n_variables) if v != target and test.log_pvalue(v, target, ()) < np.log(level)
        ]
        return sorted({*near, *required})

    def find(self, task):
        d = len(task.names)
        boundaries = [self.boundary(task.test, t, d, task.level) for t in range(d)]
        edges = {
            (t, v): np.exp(task.test.log_pvalue(t, v, ())) for t in range(d) for v in boundaries[t] if t < v
        }
        return SearchOutcome(target_searches(task.names, boundaries, edges))


CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_a_search_of_ones_own_works_in_every_estimator():
    table = linear(CHAIN, 0, n=500)
    model = dcd.RobustDCD(search=AssociationGraph(), progress=False).fit(table)
    assert {frozenset(edge) for edge in model.cpdag_.undirected_edges} == {
        frozenset(pair) for pair in (("x0", "x1"), ("x1", "x2"), ("x0", "x2"))
    }
    assert set(model.diagnostics_.searches[0].neighbours) == {"x1", "x2"}
    assert not model.diagnostics_.all_linear
    assert dcd.RobustDCD(progress=False).fit(table).cpdag_ != model.cpdag_
    boundary = dcd.MarkovBoundary(target="x0", search=AssociationGraph()).fit(table)
    assert list(boundary.boundary_) == ["x1", "x2"]


class Unfinished:
    def check(self):
        pass

    def boundary(self):
        pass


@pytest.mark.parametrize(
    ("search", "problem"),
    [
        (3, r"got 3, which has no check\(\) and no boundary\(\) and no find\(\)"),
        (Unfinished(), r"which has no find\(\)"),
        (dcd.GrowShrink, "which is a class"),
    ],
)
def test_an_object_without_the_methods_is_refused(search, problem):
    with pytest.raises(dcd.InputError, match=f"'search'.*{problem}.*Try GrowShrink"):
        dcd.RobustDCD(search=search).fit(np.random.default_rng(0).random((200, 3)))
    with pytest.raises(dcd.InputError, match=problem):
        check_search(search)


# --- grow and shrink, by itself --------------------------------------------------------------------------


def test_grow_shrink_adds_the_best_and_drops_what_it_makes_superfluous():
    """The score of a set; 3 alone is worth more than 1 and 2, which come with it."""
    value = {1: 4, 2: 3, 3: 6}

    def strongest(members, refused):
        free = [v for v in value if v not in members and v not in refused]
        return max(free, key=value.get, default=None)

    def weakest(members):
        return next((v for v in members if v != 3 and 3 in members and v != 9), None)

    assert grow_shrink([], strongest, weakest, 5) == [3]
    assert grow_shrink([9], strongest, weakest, 5) == [3, 9]
    assert grow_shrink([], strongest, lambda members: None, 2) == [1, 3]


def test_grow_shrink_ends_where_members_would_come_and_go_for_ever():
    def strongest(members, refused):
        return next((v for v in (1, 2, 3) if v not in members and v not in refused), None)

    def weakest(members):
        return min(members) if len(members) > 1 else None

    assert grow_shrink([], strongest, weakest, 5) in ([1], [2], [3])
