"""Questions to the reader as lines of a knowledge file, and the changes due to knowledge."""

import json
import tomllib

import msgspec
import numpy as np
import pandas as pd
import pytest
from support.made_results import HOSTILE, add_posterior, make_document, random_cpdag, with_uncertain

import dcd
from dcd import CPDAG
from dcd.results import Result, report
from dcd.results.changes import changes_since
from dcd.results.questions import doubts, questions_of


def asked(cpdag, **options):
    return questions_of(Result.from_dict(make_document(cpdag, n_sample=5)), **options)


def chain_of(*names):
    dag = np.diag(np.ones(len(names) - 1, dtype=int), 1)
    return CPDAG.from_dag(names, dag)


TYPES = ("forward", "backward", "undirected", "absent")
ARROWS = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "name",
    [
        "age",
        "Age",
        "patient_age",
        "SEX",
        "gender",
        "race",
        "birthYear",
        "year",
        "treatment",
        "arm",
        "study group",
    ],
)
def test_a_column_that_cannot_be_an_effect_by_its_name_is_asked_about(name):
    line = asked(chain_of(name, "income", "health"))
    (root,) = [question for question in line if question.kind == "root"]
    assert root.variables == (name,)
    assert root.text == f"Is {name} a root (caused by no other column)?"
    assert root.answers[0].line == f'roots = ["{name}"]'
    into = CPDAG.from_dag(["x", "y", name, "z"], ARROWS)
    assert [question.variables for question in asked(into) if question.kind == "root"] == [(name,)]
    out_of = CPDAG.from_dag([name, "x", "y", "z"], ARROWS)
    assert not [question for question in asked(out_of) if question.kind == "root"]


@pytest.mark.parametrize(
    "name", ["wage", "agent", "package", "yearly_x", "message", "essex", "charm", "traced"]
)
def test_a_word_inside_another_asks_nothing(name):
    assert not [question for question in asked(chain_of(name, "b", "c")) if question.kind == "root"]


def test_a_date_is_asked_about_whatever_its_name():
    graph = chain_of("visit", "b", "c")
    assert [q.variables for q in asked(graph, dates=["visit"]) if q.kind == "root"] == [("visit",)]


def test_every_line_and_every_arrow_that_is_not_sure_is_offered_with_three_answers():
    cpdag = with_uncertain(CPDAG.from_dag(["a", "b", "c", "d"], ARROWS))
    document = add_posterior(make_document(cpdag, n_sample=5))
    shares = {
        ("a", "c"): (0.6, 0.2, 0.1, 0.1),
        ("b", "c"): (0.96, 0.0, 0.04, 0.0),
        ("c", "d"): (0.8, 0.1, 0.1, 0.0),
    }
    for edge in (*document["edges"], *document["posterior"]["pairs"]):
        if (edge["first"], edge["second"]) in shares:
            parts = shares[edge["first"], edge["second"]]
            edge["probabilities"] = dict(zip(TYPES, parts, strict=True))
    questions = {question.variables: question for question in questions_of(Result.from_dict(document))}
    assert {pair: question.text for pair, question in questions.items()} == {
        ("a", "c"): "a - c (a -> c 60 %): which is the cause?",
        ("c", "d"): "c -> d (80 %): which is the cause?",
    }
    assert [answer.line for answer in questions["a", "c"].answers] == [
        'forbidden = [["c", "a"]]',
        'forbidden = [["a", "c"]]',
        'no_edge = [["a", "c"]]',
    ]
    assert [answer.meaning for answer in questions["a", "c"].answers] == [
        "a causes c, not the reverse",
        "c causes a, not the reverse",
        "neither is a direct cause of the other",
    ]
    result = Result.from_dict(
        {**document, "questions": msgspec.json.decode(msgspec.json.encode(list(questions.values())))}
    )
    assert doubts(result) == "2 directions are in doubt (1 line and 1 arrow below 95 %)"
    assert "2 directions are in doubt (1 line and 1 arrow below 95 %)." in report.render(result)


def test_every_answer_is_a_knowledge_file_with_any_name():
    names = [*HOSTILE, "\x7f age", "sex\n\t\\", "year\ud800", "day 😀"]
    questions = asked(random_cpdag(names, 30))
    lines = [answer for question in questions for answer in question.answers]
    assert {answer.key for answer in lines} == {"roots", "forbidden", "no_edge"}
    for answer in lines:
        (stated,) = tomllib.loads(answer.line)[answer.key]
        assert ([stated] if answer.key == "roots" else stated) == list(answer.names)
    assert not [answer for answer in lines if "year\ud800" in answer.names]


@pytest.fixture(scope="module")
def survey():
    rng = np.random.default_rng(0)
    age = rng.normal(size=600)
    education = 0.8 * age + rng.normal(size=600)
    income = 0.8 * education + rng.normal(size=600)
    return pd.DataFrame({"age": age, "education": education, "income": income})


@pytest.fixture(scope="module")
def before(survey):
    return dcd.summarise(dcd.RobustDCD(progress=False).fit(survey))


@pytest.fixture(scope="module")
def after(survey, before, tmp_path_factory):
    """The first question answered by the line that it offers."""
    path = tmp_path_factory.mktemp("known") / "known.toml"
    path.write_text(before.questions[0].answers[0].line)
    knowledge = dcd.Knowledge.from_toml(path)
    return dcd.summarise(dcd.RobustDCD(progress=False, knowledge=knowledge).fit(survey))


def test_an_answer_changes_the_graph_and_ends_the_questions(before, after):
    assert [question.kind for question in before.questions] == ["root", "direction", "direction"]
    assert after.cpdag.directed_edges == (("age", "education"), ("education", "income"))
    assert after.questions == ()
    changes = changes_since(before, after)
    assert [(c.before, c.after, c.given) for c in changes.edges] == [
        ("age - education", "age -> education", True),
        ("education - income", "education -> income", True),
    ]
    assert (changes.n_same, changes.settings) == (0, ())
    assert changes_since(after, after).edges == ()
    assert changes_since(after, after).n_same == 2


def test_other_settings_that_differ_are_told(survey, before):
    other = dcd.summarise(dcd.RobustDCD(progress=False, alpha=0.01, arrow_probability=0.9).fit(survey))
    assert set(changes_since(before, other).settings) == {"alpha", "arrow_probability"}
    assert "Other settings differ too" in report.render(other, before=before)


def test_questions_are_saved_and_files_without_them_can_be_read(before, tmp_path):
    before.save(tmp_path / "result.json")
    saved = json.loads((tmp_path / "result.json").read_text())
    assert saved["questions"][0]["answers"][0]["line"] == 'roots = ["age"]'
    assert dcd.load_result(tmp_path / "result.json") == before
    del saved["questions"]
    assert Result.from_dict(saved).edges == before.edges
    saved["questions"] = [{"kind": "root", "variables": ["nobody"], "text": "", "answers": []}]
    with pytest.raises(dcd.InputError, match=r"questions\[0\]\.variables names 'nobody'"):
        Result.from_dict(saved)


def test_what_the_data_prefer_given_knowledge_is_told_apart_and_marked():
    """A statement rules out graphs; of the others the data prefer one with a collider that nobody stated."""
    made = []
    for dag, knowledge in (
        ([[0, 1, 0], [0, 0, 1], [0, 0, 0]], []),
        ([[0, 1, 0], [0, 0, 0], [0, 1, 0]], ["."]),
    ):
        document = add_posterior(make_document(dcd.CPDAG.from_dag(["a", "b", "c"], dag), n_sample=3))
        made.append(Result.from_dict({**document, "knowledge": knowledge}))
    earlier, later = made
    changes = changes_since(earlier, later)
    assert [(c.before, c.after, c.given) for c in changes.edges] == [
        ("a - b", "a -> b", False),
        ("b - c", "c -> b", False),
    ]
    assert changes.by_constraint == changes.edges
    for change, was, now in zip(changes.edges, earlier.edges, later.edges, strict=True):
        shares = (
            was.probabilities
            if change.after == f"{was.first} -> {was.second}"
            else was.probabilities.reversed()
        )
        assert change.shares == (shares.forward, now.probabilities.forward)
    page = report.render(later, before=earlier)
    assert page.count("<td>the data, given the knowledge</td>") == 2
    assert page.count('class="badge changed"') == 2
    assert "no statement is about this pair" in page
    assert "Given the background knowledge, two of them are drawn as arrows, with a probability of " in page
    backwards = report.render(earlier, before=later)  # without knowledge, the data alone are the reason
    assert backwards.count("<td>the data</td>") == 2
    assert "no statement is about this pair" not in backwards
    assert "Δ" not in report.render(later)


def test_another_table_and_other_objects_are_refused(before, survey):
    other = dcd.summarise(dcd.RobustDCD(progress=False).fit(survey[:500]))
    with pytest.raises(dcd.InputError, match="parameter 'before': is a result of another table"):
        report.render(before, before=other)
    with pytest.raises(dcd.InputError, match="parameter 'before': must be a Result, got str"):
        report.render(before, before="result.json")


def test_the_page_shows_questions_and_changes_and_neither_without(before, after, tmp_path):
    page = report.render(before)
    assert "Is age a root (caused by no other column)?" in page
    assert "roots = [&#34;age&#34;]" in page
    assert "What changed" not in page
    report.write(after, tmp_path / "after.html", before=before)
    changed = (tmp_path / "after.html").read_text()
    assert "<td>age - education</td><td>age -&gt; education</td><td>by knowledge</td>" in changed
    assert "What is still open" not in changed
    assert 'id="known"' not in report.render(after)
