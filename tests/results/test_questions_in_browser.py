"""Statements ticked on the page become a knowledge file, in a real browser."""

import numpy as np
import pytest
from support.browser import launched, visits
from support.made_results import HOSTILE, make_document, random_cpdag

import dcd
from dcd.results import Result, report
from dcd.results.questions import questions_of


def with_questions(cpdag):
    document = make_document(cpdag, n_sample=5)
    questions = questions_of(Result.from_dict(document))
    return Result.from_dict({**document, "questions": [_plain(question) for question in questions]})


def _plain(question):
    answers = [
        {"key": answer.key, "names": list(answer.names), "meaning": answer.meaning, "line": answer.line}
        for answer in question.answers
    ]
    return {
        "kind": question.kind,
        "variables": list(question.variables),
        "text": question.text,
        "answers": answers,
    }


def chain_of(*names):
    return dcd.CPDAG.from_dag(names, np.diag(np.ones(len(names) - 1, dtype=int), 1))


RESULTS = {
    "survey": with_questions(chain_of("age", "education", "income")),
    "hostile": with_questions(random_cpdag([*HOSTILE, "age"], 16, seed=3)),
}


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(browser, tmp_path):
    with visits(browser) as open_page:

        def visit(name, **options):
            path = tmp_path / f"{name}.html"
            report.write(RESULTS[name], path)
            return open_page(path.as_uri(), **options)

        yield visit


def knowledge_in(page, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(page.text_content("#knowledge-file"), encoding="utf-8")
    return dcd.Knowledge.from_toml(path)


def test_what_is_ticked_is_a_knowledge_file(visit, tmp_path):
    page = visit("survey")
    assert knowledge_in(page, tmp_path) == dcd.Knowledge()
    page.get_by_label("age is a root").check()
    page.get_by_label("education causes income, not the reverse").check()
    page.get_by_label("age causes education, not the reverse").check()
    assert knowledge_in(page, tmp_path) == dcd.Knowledge(
        roots=["age"], forbidden=[("education", "age"), ("income", "education")]
    )
    page.get_by_label("age is a root").uncheck()
    assert knowledge_in(page, tmp_path).roots == ()


def test_the_answers_about_a_direction_exclude_each_other(visit, tmp_path):
    page = visit("survey")
    group = page.get_by_role("radiogroup", name="age - education: which is the cause?")
    labels = ["age causes education", "education causes age", "neither is a direct cause of the other"]
    stated = []
    for label in labels:
        group.get_by_label(label).check()
        assert group.locator("input:checked").count() == 1
        stated.append(knowledge_in(page, tmp_path).to_dict())
    pair = ["age", "education"]
    assert stated == [{"forbidden": [pair[::-1]]}, {"forbidden": [pair]}, {"no_edge": [pair]}]
    group.get_by_label("not known").check()
    assert knowledge_in(page, tmp_path) == dcd.Knowledge()


def test_any_name_survives(visit, tmp_path):
    page = visit("hostile")
    page.eval_on_selector_all("#known details", "all => all.forEach(one => { one.open = true; })")
    boxes = page.locator("#known input[data-key]")
    answers = [answer for question in RESULTS["hostile"].questions for answer in question.answers]
    assert boxes.count() == len(answers) > 6
    for index, answer in enumerate(answers):
        boxes.nth(index).check()
        stated = knowledge_in(page, tmp_path).to_dict()
        assert stated == {answer.key: [answer.names[0] if answer.key == "roots" else list(answer.names)]}
        if answer.key == "roots":
            boxes.nth(index).uncheck()
        else:
            boxes.nth(index).locator("xpath=ancestor::li").get_by_label("not known").check()


def test_without_javascript_the_lines_are_there_to_copy(visit):
    page = visit("survey", java_script_enabled=False)
    assert page.is_visible('text=roots = ["age"]')
    assert not page.is_visible("#known input >> nth=0")
    assert not page.is_visible("text=not known")
    assert not page.is_visible("#knowledge-file")
