"""Errors and warnings in one line, exit codes, and help."""

import re
import shlex
import warnings

import numpy as np
import pytest
from support.commands import chain

import dcd
from dcd.cli import dcd as group
from dcd.cli.wording import with_options
from dcd.table.remedies import drop_columns


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["discover", "DATA"], "or set --missing complete-rows or testwise."),
        (["discover", "DATA", "--missing", "testwise"], "Drop it (--drop-degenerate does)"),
        (["discover", "DATA", "--jobs", "0"], "error: option --jobs: must not be 0."),
        (["boundary", "DATA", "--target", "b"], "--missing complete-rows or testwise"),
        (["audit", "DATA"], "set --missing complete-rows or testwise"),
        (["audit", "DATA", "--json", "-"], "Drop it (--drop-degenerate does)"),
        (["audit", "DATA", "--report", "-"], "Drop it (--drop-degenerate does)"),
        (["simulate", "--noise-std", "-1"], "Try --noise-std 2.0."),
    ],
)
def test_remedies_name_options(arguments, shown, call, data):
    frame = chain().assign(same=1.0)
    frame.loc[:9, "a"] = np.nan
    path = data(frame, "real.csv")
    answer = call(*(path if word == "DATA" else word for word in arguments))
    assert shown in answer.out + answer.err
    assert not re.search(r"missing=|drop_degenerate|n_jobs", answer.out + answer.err)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["discover", "nowhere.csv"], 2, "error: file 'nowhere.csv': does not exist."),
        (["discover"], 2, "error: Missing argument 'DATA'. See 'dcd discover --help'."),
        (["discover", "x.csv", "--alpha", "2"], 2, "error: Invalid value for '--alpha'"),
        (["discover", "x.csv", "--kinds", "a=number"], 2, "'a=number' is not COLUMN=KIND"),
        (["discover", "x.csv", "--checkpoint", "no/c"], 2, "does not exist"),
        (["discover", "x.csv", "--max-time", "soon"], 2, "'soon' is not a time such as 90s, 30m, 8h or 2d."),
        (["discover", "x.csv", "--max-time", "0m"], 2, "'0m' is not a time"),
        (["discover", "x.csv", "--stability", "2", "--checkpoint", "-"], 2, "--checkpoint is read again"),
        (["discover", "x.csv", "--plot", "graph.bmp"], 2, "--plot draws .png, .svg or .pdf"),
        (["discovery"], 2, "error: No such command 'discovery'."),
        (["simulate", "--degree", "3"], 2, "error: option --degree: "),
        (["report", "nowhere.json", "--out", "-"], 2, "error: "),
    ],
)
def test_errors_are_one_line(arguments, code, message, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_method_that_fails_is_3_and_debug_shows_where(call, data, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("no convergence\nat all")

    monkeypatch.setattr(dcd.RobustDCD, "fit", fail)
    answer = call("discover", data.path)
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "error: FloatingPointError: no convergence at all (--debug shows where)\n"
    for arguments in (["--debug", "discover", data.path], ["discover", data.path, "--debug"]):
        answer = call(*arguments)
        assert answer.code == 3
        assert answer.err.startswith("Traceback")
        assert answer.err.splitlines()[-1].startswith("error: ")


def test_warnings_are_one_line_and_told_once(call, data, monkeypatch):
    answer = call("discover", data(chain(n=50)))
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("warning: Only 50 rows")
    fit = dcd.RobustDCD.fit

    def warn_and_fit(model, *table, **options):
        for _ in range(2):
            warnings.warn("The search\nwas cut.", dcd.errors.SearchCutWarning, stacklevel=1)
            warnings.warn("Deprecated somewhere.", DeprecationWarning, stacklevel=1)
        return fit(model, *table, **options)

    monkeypatch.setattr(dcd.RobustDCD, "fit", warn_and_fit)
    assert call("discover", data(chain())).err == "warning: The search was cut.\n"


def test_no_command_is_a_usage_error_with_help(call):
    answer = call()
    assert (answer.code, answer.out) == (2, "")
    assert "discover" in answer.err


def test_the_version(call):
    assert call("--version").out == f"dcd, version {dcd.__version__}\n"


def examples():
    for name, command in group.commands.items():
        lines = re.findall(r"dcd [a-z]+ .*|dcd [a-z]+", command.epilog or "")
        yield name, lines


@pytest.mark.parametrize(
    ("name", "lines"), list(examples()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_help_has_examples_with_options_that_exist(name, lines, call):
    shown = call(name, "--help")
    assert shown.code == 0
    assert "Examples:" in shown.out
    assert lines
    for line in lines:
        words = shlex.split(line)
        command = group.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a,b\n" + "1,2\n2,3\n4,1\n" * 9 + "?,3\n", "warning: .*'\\?' on line 29.* set --na '\\?'\\.\n"),
        ("a,the id\n1,9007199254740993\n", "error: .*: --exclude 'the id'\\. "),
        ("a\tb\n1\t2\n", r"error: .* Set --delimiter \$'\\t'\."),
        (b"a,b\n1,caf\xe9\n", r"error: .*, such as --encoding latin-1\."),
    ],
)
def test_remedies_for_files_name_options(text, shown, call, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    assert re.search(shown, call("audit", path).err)


def untidy(n=200):
    """A table that names its rows, with dates, missing values and words among numbers."""
    frame = chain(n).assign(id=[f"row {i}" for i in range(n)])
    frame["day"] = np.datetime_as_string(np.datetime64("2024-01-01") + np.arange(n))
    frame.loc[:2, "a"] = np.nan
    frame["b"] = frame["b"].round(6).astype(str)
    frame.loc[:6, "b"] = ["-", "1,5", "?", "n/a?", "?", "none known", "-"]
    return frame


def test_all_refused_columns_are_named_at_once_and_each_remedy_is_an_option(call, data):
    errors = call("discover", data(untidy())).err.splitlines()[1:]  # after the warning of words in 'b'
    assert [line.split(":")[1] for line in errors] == [
        f" column '{name}'" for name in ("b", "id", "day", "a")
    ]
    words = """--na '-,"1,5",?,n/a?,none known'"""
    for line, remedies in zip(
        errors,
        [
            (words,),
            ("--exclude id", "--groups id"),
            ("--kinds day=continuous",),
            ("--missing",),
        ],
        strict=True,
    ):
        assert line.startswith("error: ")
        assert all(remedy in line for remedy in remedies)
        assert not re.search(r"table|kinds[= ]\{|na_values", line)
    given = ["--exclude", "id", "--kinds", "day=continuous", "--missing", "testwise", *shlex.split(words)]
    assert call("discover", data(untidy()), *given).code == 0


def test_options_of_remedies_can_be_copied_for_any_name(call, data):
    """A list of names is split at commas; the name of one column is not."""
    name = "the \"id\", in 'full'"
    path = data(untidy()[["b", "c", "id"]].assign(b=chain()["b"]).rename(columns={"id": name}))
    error = call("discover", path).err
    for option in ("--exclude", "--groups"):
        arguments = shlex.split(re.search(rf"\(({option} .*?)\)[;,.]? ", error)[1])
        answer = call("discover", path, *arguments)
        assert (answer.code, "2 variables, 200 rows" in answer.out) == (0, True), answer.err


def test_an_option_that_stands_for_more_columns_can_be_pasted():
    columns = list("abcdefg")
    remedy = with_options(f"Drop them: {drop_columns(columns)}.")
    assert remedy == "Drop them: --exclude a,b,c,d,e (and more)."


def test_the_remedy_of_words_among_numbers_is_given_once(call, data):
    """In the warning if the column can be used as it is, else in the error."""
    answer = call("discover", data(untidy()))
    assert answer.err.count("--na") == 1
    assert answer.err.startswith("warning: ")


def test_an_audit_may_allow_missing_values(call, data):
    frame = chain()
    frame.loc[:2, "a"] = np.nan
    path = data(frame, "missing.csv")
    assert call("audit", path).code == 1
    for missing in ("testwise", "complete-rows"):
        answer = call("audit", path, "--missing", missing)
        assert (answer.code, answer.err) == (0, "")
        assert "No problems found." in answer.out


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("--reprot", "'--report' or '--plot' or '--checkpoint'"),
        ("--drop", "'--exclude'"),
        ("--n-jobs", "'--jobs'"),
        ("--random-state", "'--seed'"),
    ],
)
def test_an_unknown_option_is_answered_by_the_nearest_first(option, meant, call):
    answer = call("discover", "data.csv", option, "x")
    assert (
        answer.err == f"error: No such option '{option}'. Did you mean {meant}? See 'dcd discover --help'.\n"
    )


def test_the_rows_used_are_told_once(call, data):
    frame = chain()
    frame.loc[:2, "a"] = np.nan
    shown = call("discover", data(frame), "--missing", "complete-rows").out
    assert "3 variables, 197 of 200 rows used\n" in shown
    assert shown.count("200") == 1


def test_an_interrupt_whose_clean_up_fails_is_an_interrupt(call, data, monkeypatch):
    """As joblib's clean-up does while its threads start."""

    def interrupted(*_arguments, **_options):
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("cannot join thread before it is started")

    monkeypatch.setattr(dcd.RobustDCD, "fit", interrupted)
    answer = call("discover", data(chain(), "table.csv"))
    assert answer.code == 130
    assert "interrupted" in answer.err
