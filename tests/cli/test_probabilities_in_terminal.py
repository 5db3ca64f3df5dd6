"""`dcd discover` shows the probability of every edge and the caveats of the result."""

import json
import re

import pytest
from support.commands import ESCAPES, EVIL, collider
from support.made_results import add_posterior, make_document, random_cpdag, with_uncertain

import dcd
from dcd.cli.graph_text import show_result
from dcd.results import Result
from dcd.results.lines import reason_for_line

NAMES = ["a", "b", "c", "d", "e"]


def made(names=NAMES, **posterior):
    document = make_document(with_uncertain(random_cpdag(names, 6, seed=3)), n_sample=3)
    add_posterior(document)["posterior"].update(posterior)
    return Result.from_dict(document)


def test_discover_prints_the_probabilities_of_the_library(call, data):
    frame = collider()
    model = dcd.RobustDCD().fit(frame)
    answer = call("discover", data(frame))
    assert answer.code == 0
    expected = [
        re.fullmatch(r"(\S+) (->|-) (\S+)  \((.*)\)", line).groups() for line in str(model).splitlines()[1:]
    ]
    assert expected
    printed = re.findall(r"^  (\w+)  (->|-) +(\w+)  (\S.*)$", answer.out, flags=re.MULTILINE)
    assert printed == expected
    assert re.search(r"^ +probability$", answer.out, flags=re.MULTILINE)


def test_arrows_lines_and_uncertain_directions_have_words_of_their_own(capsys):
    result = made()
    show_result(result, "Robust DCD")
    out = capsys.readouterr().out
    kinds = {(edge.type, edge.uncertain) for edge in result.edges}
    assert kinds >= {("->", False), ("-", True)}
    for edge in result.edges:
        reason = reason_for_line(result, edge)
        assert edge.probabilities.words(edge.first, edge.second, reason) in out
    assert "direction uncertain: " in out
    assert "A direction with a probability below 75 % is uncertain and drawn as a line." in out


def test_an_arrow_that_only_tests_keep_from_being_drawn_says_so(capsys):
    result = made(arrow_probability=0.0)
    uncertain = next(edge for edge in result.edges if edge.uncertain)
    show_result(result, "Robust DCD")
    out = capsys.readouterr().out
    assert f"direction not confirmed by tests: {uncertain.first} -> {uncertain.second} " in out
    assert "In a table with categories, a direction that tests do not confirm is drawn as a line, too." in out
    assert "direction uncertain" not in out
    assert "is uncertain and drawn" not in out


def test_caveats_are_those_of_the_result(capsys):
    result = made()
    show_result(result, "Robust DCD")
    out = capsys.readouterr().out
    assert f"Caveats ({len(result.cautions)})\n" in out
    assert all(f"  {caution.text}\n" in out for caution in result.cautions)


def test_one_sided_findings_are_a_count_unless_all_is_asked_for(capsys):
    document = make_document(random_cpdag(NAMES, 6, seed=3), n_sample=3)
    (clash,) = document["conflicts"]
    document["conflicts"] = [{**clash, "problem": f"Number {i}."} for i in range(30)]
    document["conflicts"].append({**clash, "kind": "left_out_edge", "problem": "Another kind."})
    result = Result.from_dict(document)
    show_result(result, "DCD")
    brief = capsys.readouterr().out
    assert (
        "Conflicts and how they were resolved (31)\n"
        "  Another kind. One side is enough for an edge.\n  30 pairs have" in brief
    )
    assert "--verbose lists them" in brief
    assert "Number" not in brief
    show_result(result, "DCD", verbose=True)
    whole = capsys.readouterr().out
    assert all(f"  Number {i}. One side" in whole for i in range(30))
    assert "more" not in whole.split("Conflicts")[1].split("Caveats")[0]


def test_names_in_probabilities_cannot_command_the_terminal(capsys):
    show_result(made([EVIL, *NAMES[1:]]), "Robust DCD")
    assert not ESCAPES.search(capsys.readouterr().out)


@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_json_has_probabilities_if_the_method_has_some(call, data, method):
    document = json.loads(call("discover", data.path, "--method", method, "--json", "-").out)
    assert (document["posterior"] is None) == (method == "dcd")
    assert document["edges"]
    for edge in document["edges"]:
        assert (edge["probabilities"] is None) == (method == "dcd")
        if edge["probabilities"]:
            assert sum(edge["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_the_published_method_has_no_column_of_probabilities(call, data):
    assert "probability" not in call("discover", data.path, "--method", "dcd").out
