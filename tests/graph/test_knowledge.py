"""Background knowledge: statements, contradictions, and answers that are what brute force says."""

import json
from itertools import combinations, islice, permutations, product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from support.known_graphs import all_dags, random_dag
from support.searches import Oracle, erring_identifier, likelihood_of, searches_with
from support.tables import collider_with_bystanders, linear

import dcd
from dcd import CPDAG, InputError, Knowledge, graph
from dcd.features.rank_scores import make_scores
from dcd.graph.adjacency import directed_part, skeleton_of, topological_order, unshielded_colliders
from dcd.graph.equivalence import apply_meek_rules, consistent_extension, dag_to_cpdag
from dcd.search.assemble import assemble, orient_skeleton
from dcd.search.colliders import BlockLikelihood, ColliderEvidence, log_prior
from dcd.search.grow_shrink import GrowShrink

NAMES = tuple("abcdefgh")

# --- statements -------------------------------------------------------------------------------------------

COLUMNS = ("age", "sex", "lab_1", "lab_2", "Lab_3", "death")


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


FULL = Knowledge(
    forbidden=[("lab_*", "age")],
    required=[("age", "death")],
    no_edge=[("age", "sex")],
    tiers=[["age", "sex"], ["*"]],
    roots=["sex"],
    leaves=["death"],
    within_tiers="forbidden",
)


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
        ("required = ['ab']", r"'required': must be a list, got 'ab'"),
        ("required = [['a', 1]]", "'required': must hold pairs"),
        ("tiers = ['a', 'b']", "'tiers': must be a list, got 'a'"),
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
    with pytest.raises(InputError, match="cannot be read"):
        Knowledge.from_toml(tmp_path / "none.toml")
    with pytest.raises(InputError, match="must be a mapping"):
        Knowledge.from_dict([])


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"roots": ["agee"]}, "'roots': 'agee' is not a column. Did you mean 'age'"),
        ({"leaves": ["LAB_*"]}, r"'leaves': 'LAB_\*' matches no column"),
        ({"tiers": [["age"], ["x*"]]}, r"'tiers': 'x\*' matches no column"),
        ({"forbidden": [("age", "Sex")]}, "'forbidden': 'Sex' is not a column. Did you mean 'sex'"),
        ({"required": [("lab", "age")]}, "'required': 'lab' is not a column"),
        ({"no_edge": [("age", "z?")]}, "'no_edge': 'z\\?' matches no column"),
    ],
)
def test_a_name_that_fits_no_column_is_told_before_any_work(stated, message, monkeypatch):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 6)), columns=COLUMNS)
    for model in (dcd.DCD, dcd.RobustDCD):
        monkeypatch.setattr(model, "_discover", None)
        with pytest.raises(InputError, match=message):
            model(knowledge=Knowledge(**stated)).fit(frame)
    with pytest.raises(InputError, match=message):
        dcd.search.construct_cpdag(COLUMNS, None, knowledge=Knowledge(**stated))


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_statement_about_a_column_that_was_left_out(model):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc"))
    frame["same"] = 1.0
    with pytest.raises(
        InputError, match=r"'roots': names 'same', which was left out of the table \(it has the same"
    ):
        model(knowledge=Knowledge(roots=["same"]), drop_degenerate=True).fit(frame)
    known = Knowledge(tiers=[["a"], ["*"]])
    assert model(knowledge=known, drop_degenerate=True).fit(frame).cpdag_.names == ("a", "b", "c")


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_knowledge_that_is_none_is_refused(model):
    with pytest.raises(InputError, match=r"'knowledge': must be None or a Knowledge, got dict"):
        model(knowledge={"roots": ["a"]}).fit("no table at all")


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


# --- witnesses -------------------------------------------------------------------------------------------


def orientations(skeleton):
    """Every DAG of a skeleton, by trying all orders."""
    found = {}
    for order in permutations(range(len(skeleton))):
        place = np.argsort(order)
        dag = (skeleton & (place[:, None] < place[None, :])).astype(np.int8)
        found[dag.tobytes()] = dag
    return found.values()


def members_of_class(cpdag):
    """Every DAG with the skeleton and the unshielded colliders of a graph."""
    wanted = set(unshielded_colliders(cpdag))
    return [dag for dag in orientations(skeleton_of(cpdag)) if set(unshielded_colliders(dag)) == wanted]


def respects(dag, knowledge):
    """Whether a DAG respects all statements, read from them directly."""
    arrows = {(NAMES[i], NAMES[j]) for i, j in np.argwhere(dag)}
    tier = {name: k for k, names in enumerate(knowledge.tiers) for name in names}
    return (
        not arrows & set(knowledge.forbidden)
        and set(knowledge.required) <= arrows
        and not any({(a, b), (b, a)} & arrows for a, b in knowledge.no_edge)
        and not any(tier.get(a, -1) > tier.get(b, 99) for a, b in arrows)
        and not any(effect in knowledge.roots for _, effect in arrows)
        and not any(cause in knowledge.leaves for cause, _ in arrows)
    )


def shared_arrows(dags):
    """The graph of all arrows that the DAGs share; edges that turn around among them are undirected."""
    return np.any(dags, axis=0).astype(np.int8)


def true_knowledge(dag, rng):
    """Random statements, of random kinds, that hold in a DAG."""
    names = NAMES[: len(dag)]
    stated = {}
    arrows = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    absent = [(a, b) for a, b in product(names, names) if a != b and (a, b) not in arrows]
    apart = [(a, b) for a, b in combinations(names, 2) if (a, b) in absent and (b, a) in absent]
    for key, true in (("required", arrows), ("forbidden", absent), ("no_edge", apart)):
        stated[key] = [pair for pair in true if rng.random() < rng.choice([0.0, 0.2, 0.5])]
    if rng.random() < 0.3:
        order = [names[i] for i in topological_order(dag)]
        cuts = sorted(rng.choice(len(names) + 1, size=2))
        stated["tiers"] = [order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]]
    if rng.random() < 0.3:
        stated["roots"] = [names[i] for i in range(len(dag)) if not dag[:, i].any() and rng.random() < 0.5]
        stated["leaves"] = [names[i] for i in range(len(dag)) if not dag[i].any() and rng.random() < 0.5]
    return Knowledge(**stated)


def any_knowledge(n, rng):
    """Random statements that do not contradict each other, true or not."""
    while True:
        pairs = [(a, b) for a, b in product(NAMES[:n], NAMES[:n]) if a != b]
        stated = {
            key: [pair for pair in pairs if rng.random() < rate]
            for key, rate in (("required", 0.06), ("forbidden", 0.25), ("no_edge", 0.03))
        }
        try:
            return Knowledge(**stated)
        except InputError:
            continue


def assert_exact(dag, knowledge):
    """Algorithm 1 with an oracle has the arrows that the DAGs of the class with the knowledge share."""
    names = NAMES[: len(dag)]
    result = dcd.search.construct_cpdag(names, graph.oracle(dag, names), knowledge=knowledge)
    dags = [one for one in members_of_class(dag_to_cpdag(dag)) if respects(one, knowledge)]
    np.testing.assert_array_equal(result.cpdag.adjacency, shared_arrows(dags))
    np.testing.assert_array_equal(result.cpdag.without_background().adjacency, dag_to_cpdag(dag))
    assert result.conflicts == ()
    return result.cpdag


def rules_1_to_3(adjacency):
    """Meek's rules without the fourth, written out again."""
    g = np.array(adjacency, dtype=bool)
    nodes = range(len(g))
    changed = True
    while changed:
        changed = False
        to, line, near = g & ~g.T, g & g.T, g | g.T
        for a, b in np.argwhere(line):
            first = any(to[c, a] and not near[c, b] for c in nodes if c != b)
            second = any(to[a, c] and to[c, b] for c in nodes)
            third = any(
                line[a, c] and line[a, d] and to[c, b] and to[d, b] and not near[c, d]
                for c, d in combinations(nodes, 2)
            )
            if first or second or third:
                g[b, a], changed = False, True
                break
    return g.astype(np.int8)


# --- exact with a perfect identifier ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "draws", "every"), [(3, 6, 1), (4, 1, 6), pytest.param(4, 1, 1, marks=pytest.mark.slow)]
)
def test_exact_on_all_small_dags(n, draws, every):
    rng = np.random.default_rng(n)
    with_background = 0
    for dag in islice(all_dags(n), 0, None, every):
        for _ in range(draws):
            with_background += bool(assert_exact(dag, true_knowledge(dag, rng)).background)
    assert with_background > 40 / every


@pytest.mark.parametrize("seed", range(5))
def test_exact_on_dags_of_five_and_six_nodes(seed):
    rng = np.random.default_rng(seed)
    for n in (5, 5, 5, 6):
        for _ in range(15):
            dag = random_dag(n, rng)
            assert_exact(dag, true_knowledge(dag, rng))


def test_rule_4_is_needed():
    """d -> c -> b known, a next to all: if b -> a, then a -> d closes a cycle and d -> a makes a collider."""
    #                a  b  c  d
    dag = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=np.int8)
    known = assert_exact(dag, Knowledge(required=[("d", "c"), ("c", "b")]))
    assert ("a", "b") in known.directed_edges
    assert known.background == (("c", "b"), ("d", "c"))
    assert ("a", "d") in known.undirected_edges
    three = dag_to_cpdag(dag)
    three[2, 3] = three[1, 2] = 0
    three = rules_1_to_3(three)
    assert three[0, 1] == three[1, 0] == 1
    assert (three != known.adjacency).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_robust_stages_are_exact_too(seed):
    """Boundaries that grow, with a perfect test, and the colliders of the true graph."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(4, 7))
        dag = random_dag(n, rng)
        names, knowledge = NAMES[:n], true_knowledge(dag, rng)
        bound = knowledge.bind(names)
        strategy = GrowShrink(max_size=n, max_conditioning=n)
        searches = searches_with(strategy, Oracle(dag), names, 0.01, bound)
        assert all(search.overruled == () for search in searches)
        colliders = dict.fromkeys(unshielded_colliders(dag), 1.0)
        result = assemble(names, searches, lambda skeleton, forbidden: colliders, knowledge=bound)  # noqa: B023
        dags = [one for one in members_of_class(dag_to_cpdag(dag)) if respects(one, knowledge)]
        np.testing.assert_array_equal(result.cpdag.adjacency, shared_arrows(dags))
        assert result.conflicts == ()


@pytest.mark.parametrize("seed", range(3))
def test_extensions_with_background_are_found_if_and_only_if_there_are_any(seed):
    """Dor and Tarsi against trying all directions, on patterns with arbitrary arrows."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(150):
        n = int(rng.integers(4, 6))
        pattern = np.zeros((n, n), dtype=np.int8)
        for i, j in combinations(range(n), 2):
            pattern[i, j], pattern[j, i] = ((0, 0), (1, 1), (1, 0), (0, 1))[rng.integers(4)]
        extensions = [one for one in members_of_class(pattern) if (one[directed_part(pattern)] == 1).all()]
        answer = consistent_extension(pattern)
        assert (answer is not None) == bool(extensions)
        if extensions:
            found += 1
            assert any(np.array_equal(answer, one) for one in extensions)
            np.testing.assert_array_equal(apply_meek_rules(pattern), shared_arrows(extensions))
    assert 40 < found < 140


# --- knowledge that the data contradict -------------------------------------------------------------------


def assert_valid_and_respectful(cpdag, knowledge):
    """The graph stands for some DAGs and has all arrows that they share; each of them respects it all."""
    adjacency = cpdag.adjacency
    dags = [one for one in members_of_class(adjacency) if (one[directed_part(adjacency)] == 1).all()]
    assert dags
    np.testing.assert_array_equal(shared_arrows(dags), adjacency)
    assert all(respects(dag, knowledge) for dag in dags)


@pytest.mark.parametrize("seed", range(4))
def test_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(25):
        dag, knowledge, noise = random_dag(6, rng), any_knowledge(6, rng), {}
        identify = erring_identifier(
            pd.DataFrame(dag, columns=list("abcdef"), index=list("abcdef")), 0.1, rng
        )

        def pvalue(*key, noise=noise):
            return noise.setdefault(str(key), rng.random())

        result = dcd.search.construct_cpdag("abcdef", identify, pvalue=pvalue, knowledge=knowledge)
        assert_valid_and_respectful(result.cpdag, knowledge)
        kinds |= {conflict.kind for conflict in result.conflicts}
    assert {"required_edge", "forbidden_edge", "refused_collider", "known_collider"} <= kinds


@pytest.mark.parametrize("seed", range(3))
def test_robust_is_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        dag, knowledge = random_dag(6, rng), any_knowledge(6, rng)
        frame = pd.DataFrame(linear(dag, seed, n=300), columns=list("abcdef"))
        assert_valid_and_respectful(dcd.RobustDCD(knowledge=knowledge).fit(frame).cpdag_, knowledge)


def test_what_the_data_contradict_is_told():
    """The data: a -> c <- b, c -> d, e alone."""
    frame = collider_with_bystanders(1000, 0)
    for model in (dcd.DCD(alpha=1e-3), dcd.RobustDCD(alpha=1e-3)):

        def told(expected, model=model, **stated):
            fitted = clone(model).set_params(knowledge=Knowledge(**stated)).fit(frame)
            return fitted, "\n".join(str(one) for one in fitted.conflicts_ if one.kind == expected)

        fitted, words = told("required_edge", required=[("e", "a")])
        assert words.replace("a - e", "e - a") == (
            "The data show no edge e - a, but e -> a is required. Knowledge went first; the edge was drawn."
        )
        assert ("e", "a") in fitted.cpdag_.directed_edges
        assert "e" in fitted.markov_boundaries_["a"]

        fitted, words = told("forbidden_edge", no_edge=[("c", "d")])
        assert "no edge between c and d is allowed" in words
        assert "no edge was drawn" in words
        assert fitted.markov_boundaries_["d"].get("c") in (None, "spouse")

        fitted, words = told("refused_collider", required=[("c", "a")])
        assert "c -> a is required" in words
        assert ("c", "a") in fitted.cpdag_.directed_edges

        fitted, _ = told("known_collider", forbidden=[("c", "d")])
        assert fitted.conflicts_  # either a -> c <- b goes, or a -> c <- d comes
        assert ("d", "c") in fitted.cpdag_.directed_edges


def test_one_way_statements_that_would_close_a_ring():
    """Each pair has one direction left, in a circle; the weakest edge goes, a required one never."""
    pvalues = {frozenset("ab"): 1e-9, frozenset("bc"): 0.04, frozenset("ac"): 1e-7}
    circle = {"forbidden": [("b", "a"), ("c", "b"), ("a", "c")]}
    for required, edges in (([], "a -> b\nc -> a"), ([("b", "c"), ("c", "a")], "b -> c\nc -> a")):
        result = dcd.search.construct_cpdag(
            "abc",
            lambda target, others: set(others),
            pvalue=lambda target, member, others: pvalues[frozenset((target, member))],
            knowledge=Knowledge(**circle, required=required),
        )
        assert str(result.cpdag) == edges
        (conflict,) = result.conflicts
        assert "would close a cycle" in str(conflict)


def test_a_collider_that_is_known_needs_no_evidence():
    """The data: a -> c <- b, c -> d."""
    frame = collider_with_bystanders(1000, 0)
    assert len(dcd.RobustDCD(alpha=1e-3).fit(frame).colliders_) == 1
    known = Knowledge(required=[("a", "c"), ("b", "c")])
    model = dcd.RobustDCD(alpha=1e-3, knowledge=known).fit(frame)
    assert str(model.cpdag_) == "a -> c\nb -> c\nc -> d"
    assert model.colliders_ == model.cpdag_.background == model.conflicts_ == ()


# --- the search for colliders within what is known --------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_of_all_allowed_orientations(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(6, rng)
    skeleton = skeleton_of(dag)
    order = np.argsort(rng.permutation(6))  # arrows against this order are forbidden for some pairs
    forbidden = (order[:, None] > order[None, :]) & (rng.random((6, 6)) < 0.4)
    scores = make_scores(linear(dag, seed, n=150, weight=0.4))
    likelihood = BlockLikelihood(scores)
    found = ColliderEvidence().colliders(scores, skeleton, seed, forbidden=forbidden)

    cpdag = orient_skeleton(skeleton, found)
    n_arms = sum(
        any(skeleton[y, z] and not skeleton[x, y] and not forbidden[y, z] for y in range(6) if y != x)
        for z, x in product(range(6), range(6))
        if skeleton[x, z] and not forbidden[x, z]
    )

    def posterior(candidate):
        taken = {(end, z) for x, z, y in unshielded_colliders(candidate) for end in (x, y)}
        return likelihood_of(candidate, likelihood) / 1.5 + log_prior(len(taken), n_arms)

    allowed = {
        frozenset(unshielded_colliders(one)): posterior(one)
        for one in orientations(skeleton)
        if not (one.astype(bool) & forbidden).any()
    }
    assert set(found) == set(max(allowed, key=allowed.get))
    assert set(unshielded_colliders(cpdag)) == set(found)
    for triple, evidence in found.items():
        without = [value for colliders, value in allowed.items() if triple not in colliders]
        if not without:
            assert evidence == np.inf
        else:
            assert evidence >= max(allowed.values()) - max(without) - 1e-6


def test_a_search_without_any_allowed_orientation_is_refused():
    skeleton, forbidden = np.zeros((4, 4), dtype=bool), np.zeros((4, 4), dtype=bool)
    for i, j in ((0, 1), (1, 2), (2, 3)):
        skeleton[i, j] = skeleton[j, i] = True
    forbidden[2, 3] = forbidden[3, 2] = True
    scores = make_scores(np.random.default_rng(0).standard_normal((100, 4)))
    with pytest.raises(InputError, match="'forbidden': leaves no DAG of the skeleton"):
        ColliderEvidence().colliders(scores, skeleton, 0, forbidden=forbidden)


# --- on data ----------------------------------------------------------------------------------------------


def simulated(seed, d=6, n=300):
    dag = dcd.simulate.random_dag(d, degree=4, graph="erdos-renyi", random_state=seed)
    values = dcd.simulate.sample(dag, n, mechanism="mlp", noise_std=1.0, random_state=seed)
    return dag, pd.DataFrame(values, columns=NAMES[:d])


def true_tiers(dag, n_tiers=3):
    order = [NAMES[i] for i in topological_order(dag)]
    return [list(part) for part in np.array_split(order, n_tiers)]


@pytest.mark.parametrize("n_graphs", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_true_tiers_help(n_graphs):
    """On average the distances to the true class and to the true DAG become smaller."""
    gains, gains_dag = [], []
    for seed in range(n_graphs):
        dag, frame = simulated(seed)
        plain = dcd.RobustDCD().fit(frame).cpdag_
        knowing = dcd.RobustDCD(knowledge=Knowledge(tiers=true_tiers(dag))).fit(frame).cpdag_
        truth = dag_to_cpdag(dag)
        before = dcd.metrics.compare(truth, plain.adjacency).shd_c
        gains.append(before - dcd.metrics.compare(truth, knowing.without_background().adjacency).shd_c)
        before = dcd.metrics.compare(dag, plain.adjacency).shd_c
        gains_dag.append(before - dcd.metrics.compare(dag, knowing.adjacency).shd_c)
    assert np.mean(gains) >= 0
    assert np.mean(gains_dag) >= 1


@pytest.mark.parametrize("seed", [0, 1, 2, 5, 8, 13])
def test_against_pc_of_causal_learn_with_the_same_tiers(seed):
    """Where both find the same skeleton, they find the same arrows."""
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    dag = random_dag(5, np.random.default_rng(seed))
    frame = pd.DataFrame(linear(dag, seed, n=3000), columns=list("abcde"))
    tiers, theirs = true_tiers(dag), BackgroundKnowledge()
    for k, tier in enumerate(tiers):
        for name in tier:
            theirs.add_node_to_tier(GraphNode(name), k)
    answer = pc(
        frame.to_numpy(), 0.01, "fisherz", background_knowledge=theirs, node_names=list("abcde"),
        show_progress=False,
    ).G.graph  # fmt: skip
    adjacency = (answer == -1).astype(int)  # -1 is a tail: i -> j or i - j
    ours = dcd.RobustDCD(knowledge=Knowledge(tiers=tiers)).fit(frame).cpdag_.adjacency
    assert (skeleton_of(adjacency) != skeleton_of(ours)).any() or np.array_equal(adjacency, ours)


@pytest.mark.parametrize("model", [dcd.DCD(), dcd.RobustDCD()])
def test_the_result_depends_on_neither_jobs_nor_order_of_columns(model):
    for seed in range(3):
        _, frame = simulated(seed, d=5, n=200)
        knowledge = any_knowledge(5, np.random.default_rng(seed))
        model = clone(model).set_params(knowledge=knowledge)
        one = clone(model).fit(frame)
        order = np.random.default_rng(seed).permutation(frame.columns)
        other = clone(model).set_params(n_jobs=2 if seed == 0 else None).fit(frame[order])
        assert one.cpdag_ == other.cpdag_
        assert set(one.cpdag_.background) == set(other.cpdag_.background)
        assert one.conflicts_ == other.conflicts_
        assert list(other.cpdag_.names) == list(order)


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_a_clone_knows_the_same(model):
    twin = clone(model(knowledge=FULL))
    assert twin.knowledge == FULL
    assert twin.get_params()["knowledge"] == FULL


@pytest.mark.parametrize("model", [dcd.DCD, dcd.RobustDCD])
def test_nothing_known_changes_nothing(model):
    _, frame = simulated(3)
    plain, empty = model().fit(frame), model(knowledge=Knowledge()).fit(frame)
    vacuous = model(knowledge=Knowledge(tiers=[["*"]])).fit(frame)
    assert plain.cpdag_ == empty.cpdag_ == vacuous.cpdag_
    assert plain.conflicts_ == empty.conflicts_ == vacuous.conflicts_
    assert plain.cpdag_.background == ()


def test_a_required_edge_is_in_the_boundary_and_a_forbidden_one_only_as_a_spouse():
    """a -> c <- b: a and b are spouses, whom knowledge may keep apart; e has no part in it."""
    frame = collider_with_bystanders(1000, 3)
    for model in (dcd.DCD(alpha=1e-3), dcd.RobustDCD(alpha=1e-3)):
        known = Knowledge(no_edge=[("a", "b")], required=[("e", "d")])
        fitted = model.set_params(knowledge=known).fit(frame)
        assert fitted.markov_boundaries_["a"]["b"] == "spouse"
        assert fitted.markov_boundaries_["d"]["e"] == "parent"
        search = next(one for one in fitted.diagnostics_.searches if one.target == "d")
        assert "e" in search.boundary
        assert "e" in search.neighbours
        assert search.overruled == ("e",)


# --- the graph that carries it ----------------------------------------------------------------------------

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_a_cpdag_with_background():
    known = CPDAG.from_dag("abc", CHAIN, background=[("a", "b")])
    assert known.directed_edges == (("a", "b"), ("b", "c"))
    assert known.background == (("a", "b"),)
    assert repr(known) == "CPDAG(3 variables, 2 directed (1 by knowledge), 0 undirected edges)"
    turned = known.reorder("cba")
    assert turned == known
    assert hash(turned) == hash(known)
    assert turned.background == (("a", "b"),)
    plain = known.without_background()
    assert plain == CPDAG.from_dag("abc", CHAIN)
    assert plain != known
    assert plain.background == ()
    np.testing.assert_array_equal(known.to_dag().adjacency, CHAIN)
    middle = CPDAG.from_dag("abc", CHAIN, background=[("b", "c")])
    assert middle.undirected_edges == (("a", "b"),)


def test_background_that_the_class_has_anyway_is_left_out():
    collider = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert CPDAG("abc", collider, (("a", "b"),)).background == ()


@pytest.mark.parametrize(
    ("adjacency", "background", "message"),
    [
        (CHAIN, (), "is not the CPDAG of any DAG"),
        (
            [[0, 1, 0], [0, 0, 1], [0, 1, 0]],
            (("a", "b"),),
            "is not the CPDAG of any DAG with this background",
        ),
        (CHAIN, (("b", "a"),), "'background': has b -> a, which is not in the graph"),
        (CHAIN, (("a", "c"),), "'background': has a -> c, which is not in the graph"),
        (CHAIN, (("a", "x"),), "variable 'x': is not in the graph"),
    ],
)
def test_a_background_that_does_not_fit_is_refused(adjacency, background, message):
    with pytest.raises(InputError, match=message):
        CPDAG("abc", adjacency, background)
