"""Checkpoints of a fit: kill -9 at any moment, other runs refused, damage told; and what the file holds."""

import base64
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd import DCD, InputError, PartialAssociation, RobustDCD
from dcd.estimators import description
from dcd.estimators.codecs import published_codecs, robust_codecs
from dcd.estimators.description import digest_of
from dcd.independence.base import Interaction, Record
from dcd.runtime.checkpoint import Checkpoint, Codec, Description
from dcd.search.decoupled_boundaries import DecoupledSet
from dcd.search.grow_shrink import Boundary
from dcd.table.reading import read_columns
from dcd.weights.base import SampleWeights
from dcd.weights.sketch import WeightSketch

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def interacting_table(seed=0, n=250):
    """A few variables of which some interact, so that sets are decoupled."""
    rng = np.random.default_rng(seed)
    c, d, e = rng.standard_normal((3, n))
    a, b = c + 0.7 * rng.standard_normal(n), np.tanh(c) + d + 0.5 * rng.standard_normal(n)
    t = a + b + a * b + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e, "t": t})


def with_gaps(seed=0):
    table = interacting_table(seed)
    holes = np.random.default_rng(seed + 100).random(table.shape) < 0.04
    return table.mask(holes)


MODELS = {
    "published": DCD(),
    "robust": RobustDCD(),
    "always": RobustDCD(test=PartialAssociation(decouple="always")),
    "weights": RobustDCD(test=dcd.WeightedAssociation()),
    "gaps": RobustDCD(test=PartialAssociation(decouple="always"), missing="testwise"),
}


def table_for(name, seed=0):
    return with_gaps(seed) if name == "gaps" else interacting_table(seed)


def fresh(name, **parameters):
    from sklearn.base import clone

    return clone(MODELS[name]).set_params(progress=False, **parameters)


def assert_same_result(first, second):
    """To the last bit, diagnostics and all."""
    assert first.cpdag_ == second.cpdag_
    assert first.markov_boundaries_ == second.markov_boundaries_
    assert first.conflicts_ == second.conflicts_
    assert_same(first.diagnostics_, second.diagnostics_)
    assert_same(first.account_, second.account_)


def assert_same(first, second):
    if isinstance(first, np.ndarray):
        np.testing.assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        assert_same(tuple(first.values()), tuple(second.values()))
    elif isinstance(first, tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif dataclasses.is_dataclass(first):
        assert type(first) is type(second)
        assert_same(tuple(vars(first).values()), tuple(vars(second).values()))
    else:
        assert first == second
        assert type(first) is type(second)


# --- the same result --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_from_any_prefix_of_the_file_the_same_result(name, tmp_path):
    """Every line can be the last before a crash, and none is needed."""
    path, table = tmp_path / "run.dcd", table_for(name)
    wanted = fresh(name).fit(table)
    kept = fresh(name).fit(table, checkpoint=path)
    assert_same_result(kept, wanted)
    whole = path.read_bytes().splitlines(keepends=True)
    for number in {0, 1, 2, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(b"".join(whole[:number]))
        assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)
        assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(whole)


def test_the_robust_record_is_not_trivial():
    for name in ("always", "weights", "gaps"):
        diagnostics = fresh(name).fit(table_for(name)).diagnostics_
        assert len(diagnostics.sets) > 5, name


@pytest.mark.parametrize("name", ["published", "always"])
def test_in_any_order_of_the_pieces(name, tmp_path):
    path, table = tmp_path / "run.dcd", table_for(name)
    wanted = fresh(name).fit(table, checkpoint=path)
    header, *pieces = path.read_bytes().splitlines(keepends=True)
    rng = random.Random(0)
    for _ in range(3):
        rng.shuffle(pieces)
        path.write_bytes(b"".join([header, *pieces[: rng.randrange(len(pieces))]]))
        assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)


@pytest.mark.parametrize("name", ["published", "robust"])
def test_a_finished_run_does_nothing_again(name, tmp_path, monkeypatch):
    path, table = tmp_path / "run.dcd", table_for(name)
    wanted = fresh(name).fit(table, checkpoint=path)
    content = path.read_bytes()
    monkeypatch.setattr("dcd.search.grow_shrink.as_done", None)
    monkeypatch.setattr("dcd.search.decoupled_boundaries.as_done", None)
    assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)
    assert path.read_bytes() == content


@needs_fork
@pytest.mark.parametrize("name", ["published", "always", "gaps"])
def test_killed_at_any_moment_it_goes_on(name, tmp_path):
    """SIGKILL again and again, at moments that a generator chooses."""
    path, table, rng = tmp_path / "run.dcd", table_for(name), random.Random(name)
    start = time.monotonic()
    wanted = fresh(name).fit(table)
    usual = time.monotonic() - start
    kills = 0
    for _ in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forks while there are threads
            child = os.fork()
        if child == 0:
            fresh(name).fit(table, checkpoint=path)
            os._exit(0)
        time.sleep(rng.uniform(0, 0.5 * usual))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        kills += 1
    assert kills >= 1
    assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)


RUN = """
import sys, pandas, dcd
model = getattr(dcd, sys.argv[1])(n_jobs=2)
if __name__ == "__main__":
    model.fit(pandas.read_csv(sys.argv[2]), checkpoint=sys.argv[3])
"""


@pytest.mark.parametrize("name", ["DCD", "RobustDCD"])
def test_killed_with_two_processes_it_goes_on(name, tmp_path):
    path, frame = tmp_path / "run.dcd", tmp_path / "table.csv"
    table = interacting_table(n=600)
    table.to_csv(frame, index=False)
    arguments = [sys.executable, "-c", RUN, name, str(frame), str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 3):
            time.sleep(0.005)
        process.kill()
        process.communicate(timeout=60)  # the end of all who could write there: no process is left behind
    assert path.read_bytes().count(b"\n") >= 3
    model, table = getattr(dcd, name), pd.read_csv(frame)
    assert_same_result(model().fit(table, checkpoint=path), model().fit(table))


def test_two_processes_go_on_with_what_one_did(tmp_path):
    path, table = tmp_path / "run.dcd", table_for("always")
    wanted = fresh("always").fit(table, checkpoint=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert_same_result(fresh("always", n_jobs=2).fit(table, checkpoint=path), wanted)


def test_an_interrupt_leaves_a_good_checkpoint(tmp_path, monkeypatch):
    path, table = tmp_path / "run.dcd", table_for("always")
    wanted = fresh("always").fit(table)
    true_add = Checkpoint.add

    def interrupted(self, *given):
        true_add(self, *given)
        if len(path.read_bytes().splitlines()) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh("always").fit(table, checkpoint=path)
    monkeypatch.setattr(Checkpoint, "add", true_add)
    assert_same_result(fresh("always").fit(table, checkpoint=path), wanted)


# --- whose it is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": interacting_table(1)}, "data was"),
        ({"X": interacting_table(n=249)}, "rows was 250, is 249"),
        ({"X": interacting_table().rename(columns={"d": "f"})}, "data was"),
        ({"X": interacting_table().drop(columns="e")}, "columns was 6, is 5"),
        ({"X": interacting_table().assign(a=interacting_table()["a"] * (1 + 1e-15))}, "data was"),
        ({"sample_weight": np.arange(1.0, 251)}, "sample_weight was None"),
        ({"model": RobustDCD(alpha=0.1)}, "model parameter 'alpha' was '0.05', is '0.1'"),
        ({"model": RobustDCD(search=dcd.GrowShrink(max_size=5))}, "model parameter 'search' was 'None'"),
        ({"model": RobustDCD(knowledge=dcd.Knowledge(roots=["e"]))}, "model parameter 'knowledge'"),
        ({"model": RobustDCD(random_state=1)}, "random_state was 0, is 1"),
        ({"model": DCD()}, "model was 'RobustDCD', is 'DCD'"),
        ({"version": "9.9"}, "version was '0.1.0', is '9.9'"),
    ],
)
def test_other_runs_are_refused_with_what_differs(change, named, tmp_path, monkeypatch):
    path = tmp_path / "run.dcd"
    RobustDCD().fit(interacting_table(), checkpoint=path)
    before = path.read_bytes()
    settings = {"model": RobustDCD(), "X": interacting_table()} | change
    monkeypatch.setattr(description, "__version__", settings.pop("version", dcd.__version__))
    with pytest.raises(InputError, match=named) as refusal:
        settings.pop("model").fit(**settings, checkpoint=path)
    assert "belongs to another run" in refusal.value.problem
    assert path.read_bytes() == before


def test_other_weights_are_refused(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(table))
    RobustDCD().fit(table, sample_weight=weights, checkpoint=path)
    RobustDCD().fit(table, sample_weight=2 * weights, checkpoint=path)  # says the same of every row
    with pytest.raises(InputError, match="sample_weight was"):
        RobustDCD().fit(table, sample_weight=weights[::-1], checkpoint=path)


@pytest.mark.parametrize("name", ["published", "robust"])
def test_what_changes_no_result_makes_no_other_run(name, tmp_path, monkeypatch):
    """n_jobs, progress, memory_limit, the order of the columns, and the library that holds the table."""
    path, table = tmp_path / "run.dcd", interacting_table()
    wanted = fresh(name).fit(table, checkpoint=path)
    monkeypatch.setattr("dcd.search.grow_shrink.as_done", None)
    monkeypatch.setattr("dcd.search.decoupled_boundaries.as_done", None)
    turned = table[list(table)[::-1]]
    again = (
        fresh(name).set_params(n_jobs=2, progress=True, memory_limit="2GB").fit(turned, checkpoint=str(path))
    )
    assert again.cpdag_.reorder(wanted.cpdag_.names) == wanted.cpdag_
    polars = pytest.importorskip("polars")
    fresh(name).fit(polars.from_pandas(table), checkpoint=path)


def test_the_seed_matters_only_where_it_does(tmp_path):
    table = interacting_table()
    DCD(random_state=None).fit(table, checkpoint=tmp_path / "a")
    DCD(random_state=3).fit(table, checkpoint=tmp_path / "a")
    for model in (DCD(init_scale=0.1), RobustDCD(random_state=None)):
        with pytest.raises(InputError, match="'random_state': must be a whole number with a checkpoint"):
            model.fit(table, checkpoint=tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_one_file_for_the_fit_and_its_resamples(tmp_path, monkeypatch):
    path, table = tmp_path / "run.dcd", interacting_table()
    model = RobustDCD().fit(table, checkpoint=path)
    stability = dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    assert stability == dcd.stability(RobustDCD(), table, n_resamples=4)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["work"] for line in lines if "kind" in json.loads(line)] == ["fit", "resamples"]
    for other in (interacting_table(1), interacting_table().drop(columns="a")):
        with pytest.raises(InputError, match="belongs to another run"):
            dcd.stability(RobustDCD(), other, n_resamples=4, checkpoint=path)
    with pytest.raises(InputError, match="scheme was 'subsample', is 'bootstrap'"):
        dcd.stability(RobustDCD(), table, n_resamples=4, scheme="bootstrap", checkpoint=path)
    for module in ("search.grow_shrink", "search.decoupled_boundaries", "estimators.resampling"):
        monkeypatch.setattr(f"dcd.{module}.as_done", None)
    assert_same_result(RobustDCD().fit(table, checkpoint=path), model)
    assert dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path) == stability
    assert path.read_text().splitlines() == lines


# --- files ------------------------------------------------------------------------------------------------


def test_a_line_cut_off_is_done_again(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    wanted = RobustDCD().fit(table, checkpoint=path)
    whole = path.read_bytes()
    first_end, last_start = whole.index(b"\n") + 1, whole[:-1].rfind(b"\n") + 1
    for cut in (1, 20, first_end - 1, first_end + 1, last_start + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert_same_result(RobustDCD().fit(table, checkpoint=path), wanted)
        assert path.read_bytes() == whole


def test_damaged_lines_are_refused_and_left(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    RobustDCD().fit(table, checkpoint=path)
    lines = path.read_text().splitlines()
    for damaged in (
        lines[2][:-5],
        "{}",
        "[]",
        "null",
        '{"stage": 3, "key": 0}',
        lines[2].replace("members", "x"),
        '{"stage": "boundaries", "key": 1, "result": {"boundary": {"members": [], "log_pvalues": []}, '
        '"balances": [1], "interactions": []}}',
        '{"stage": "separations", "key": [0, 1], "result": {"log_pvalue": 1'
        + "0" * 400
        + ', "balances": [], '
        '"interactions": []}}',
    ):
        content = "\n".join([*lines[:2], damaged, *lines[3:]]) + "\n"
        path.write_text(content)
        with pytest.raises(InputError, match=r"line 3 is damaged\. Remove that line, or the file\."):
            RobustDCD().fit(table, checkpoint=path)
        assert path.read_text() == content


def test_what_a_file_claims_to_be_of_is_told_on_one_short_line(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    RobustDCD().fit(table, checkpoint=path)
    header = json.loads(path.read_text().splitlines()[0])
    header["shared"] = {"a\n\x1b[31mb": 1, **{f"entry {place}": place for place in range(1000)}}
    path.write_text(json.dumps(header) + "\n")
    with pytest.raises(InputError, match=r"; and 10\d\d more\. Name another file") as refusal:
        RobustDCD().fit(table, checkpoint=path)
    assert str(refusal.value).isprintable()
    assert len(str(refusal.value)) < 2000


@pytest.mark.parametrize("name", ["a\0b", "x" * 300])
def test_what_can_be_no_name_of_a_file_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"checkpoint '.*': cannot be written"):
        RobustDCD().fit(interacting_table(), checkpoint=tmp_path / name)


def test_a_number_of_numpy_is_the_same_parameter(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    RobustDCD(alpha=0.05).fit(table, checkpoint=path)
    before = path.read_bytes()
    RobustDCD(alpha=np.float64(0.05)).fit(table, checkpoint=path)
    assert path.read_bytes() == before


def test_a_part_without_words_is_refused_before_work(tmp_path):
    class Wordless(PartialAssociation):
        __repr__ = object.__repr__

    with pytest.raises(InputError, match="parameter 'test': is known by its place in memory only"):
        RobustDCD(test=Wordless()).fit(interacting_table(), checkpoint=tmp_path / "run.dcd")
    assert not (tmp_path / "run.dcd").exists()


def test_files_that_are_no_checkpoints_are_left_alone(tmp_path):
    other = tmp_path / "thesis.txt"
    for content in (
        "Once upon a time\n",
        "no line end",
        '{"kind": "other"}\n',
        '{"kind": "dcd result"',
        "\n",
    ):
        other.write_text(content)
        with pytest.raises(InputError, match="is not a checkpoint"):
            RobustDCD().fit(interacting_table(), checkpoint=other)
        assert other.read_text() == content
    other.write_text('{"kind": "dcd checkpoint", "format": 1, "version": "0.1.0"}\n')
    with pytest.raises(InputError, match="format was 1, is 3"):
        RobustDCD().fit(interacting_table(), checkpoint=other)


@pytest.mark.parametrize("wrong", [3, True, ["run.dcd"], b"run.dcd"])
def test_what_is_no_path_is_refused(wrong):
    with pytest.raises(InputError, match=r"parameter 'checkpoint': must be None or the path of a file, got"):
        RobustDCD().fit(interacting_table(), checkpoint=wrong)


def test_places_where_no_file_can_be_are_refused(tmp_path):
    for place in (tmp_path / "no folder" / "run.dcd", tmp_path, os.devnull):
        with pytest.raises(InputError, match="no file can be created there"):
            RobustDCD().fit(interacting_table(), checkpoint=place)


def test_a_file_that_cannot_be_written_is_refused(tmp_path):
    path = tmp_path / "run.dcd"
    path.touch()
    path.chmod(0o400)
    if os.access(path, os.W_OK):
        pytest.skip("this user may write everything")
    with pytest.raises(InputError, match="cannot be written"):
        RobustDCD().fit(interacting_table(), checkpoint=path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_disk_is_told(tmp_path):
    description = Description("fit", {}, {})
    with Checkpoint(tmp_path / "run.dcd", description, {"s": Codec(int, lambda _, value: value)}) as kept:
        kept.add("s", 0, 1)
        with open("/dev/full", "wb", buffering=0) as full:
            kept._file = full
            with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
                kept.add("s", 1, 2)
    with Checkpoint(tmp_path / "run.dcd", description, {"s": Codec(int, lambda _, value: value)}) as kept:
        assert kept.done == {("s", 0): 1}


def test_two_runs_at_once_are_refused_and_the_lock_ends_with_its_run(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    RobustDCD().fit(table, checkpoint=path)
    first_line = json.loads(path.read_text().splitlines()[0])
    description = Description("fit", first_line["shared"], first_line["own"])
    with Checkpoint(path, description, {}), pytest.raises(InputError, match="is in use by another run"):
        RobustDCD().fit(table, checkpoint=path)
    with pytest.raises(InputError, match="belongs to another run"):
        RobustDCD(alpha=0.01).fit(table, checkpoint=path)
    RobustDCD().fit(table, checkpoint=path)  # nothing is left locked, by an error either


def test_bad_input_makes_no_file(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    for model, wrong in ((RobustDCD(alpha=3), table), (RobustDCD(), table.assign(z=1.0))):
        with pytest.raises(InputError):
            model.fit(wrong, checkpoint=path)
    assert not path.exists()


# --- what is in it ----------------------------------------------------------------------------------------


def through_json(codec, key, result):
    return codec.read(key, json.loads(json.dumps(codec.write(result))))


def sketch_of(numbers, n_shown=4):
    return WeightSketch(9, *numbers[:1], "converged", *numbers[1:3], numbers[:3], (3, 6), numbers[:n_shown])


def test_every_number_comes_back_to_the_last_bit():
    rng = np.random.default_rng(0)
    odd = np.array([np.nan, np.inf, -np.inf, -0.0, 5e-324, np.pi, 1e308, 1 / 3])
    for _ in range(20):
        members = (0, 2, 3)
        numbers = np.concatenate([odd, rng.standard_normal(4) * 10.0 ** rng.integers(-300, 300, 4)])
        square, wide = (rng.choice(numbers, size=(3, columns)) for columns in (3, 5))
        wide = np.asfortranarray(wide)
        sketch = sketch_of(rng.permutation(numbers))
        numbered = (numbers[-1], "converged", 17, np.inf, np.nan)
        given = DecoupledSet(("a", "c", "d"), *numbered, square, -square, wide, wide[::-1], sketch)
        assert_same_bits(through_json(published_codecs("abcde", 4)["sets"], members, given), given)
        log_pvalue, ess, left = (float(number) for number in rng.choice(numbers[1:], size=3))
        record = Record(
            {(1, 2): SampleWeights(np.empty(0), ess, left, ess, 0.0, "ess_floor")},
            {(0, 3, (1, 2)): Interaction((0, 3), (1, 2), log_pvalue, left, ess, left)},
        )
        codecs = robust_codecs(5, 4)
        assert through_json(codecs["separations"], (0, 3), (log_pvalue, record)) == (log_pvalue, record)
        boundary = Boundary((1, 2), ((1, log_pvalue), (2, left)), (1, 2), sketch)
        back, read = through_json(codecs["boundaries"], 4, (boundary, record))
        assert_same_bits(back, boundary)
        assert read == record


def assert_same_bits(found, wanted):
    """Of two dataclasses, the inner ones included; types count, but not NumPy's for a number."""
    for name, value in vars(wanted).items():
        if dataclasses.is_dataclass(value):
            assert_same_bits(getattr(found, name), value)
        elif isinstance(value, (np.ndarray, float)):
            assert np.asarray(getattr(found, name)).tobytes() == np.asarray(value).tobytes(), name
        else:
            assert getattr(found, name) == value


@pytest.mark.parametrize(
    "change",
    [
        {"ess": "many"},
        {"n_steps": 1.5},
        {"status": 3},
        {"pvalues": "###"},
        {"pvalues": base64.b64encode(bytes(8 * 7)).decode()},
        {"hsic_after": None},
        {"more": 1},
        {"sketch": {}},
        {"sketch": {"shown": base64.b64encode(bytes(8 * 5)).decode()}},
        {"sketch": {"counts": [1]}},
    ],
)
def test_sets_that_nobody_can_have_written_are_refused(change):
    codec = published_codecs("abc", 4)["sets"]
    matrices = (*2 * [np.eye(2)], *2 * [np.ones((2, 3))])
    given = DecoupledSet(("a", "c"), 1.0, "converged", 1, 1.0, 1.0, *matrices, sketch_of(np.arange(9.0)))
    written = codec.write(given)
    assert codec.read((0, 2), written).variables == ("a", "c")
    if change.get("sketch"):
        change = {"sketch": {**written["sketch"], **change["sketch"]}}
    with pytest.raises((ValueError, TypeError, KeyError)):
        codec.read((0, 2), {**written, **change})
    with pytest.raises((ValueError, TypeError, KeyError)):
        codec.read((0, 3), written)


@pytest.mark.parametrize(
    "change",
    [
        {"boundary": {"members": [0, 5], "log_pvalues": [[0, -3.0], [5, -3.0]]}},
        {"boundary": {"members": [2], "log_pvalues": [[2, -3.0]]}},
        {"boundary": {"members": [0, 1], "log_pvalues": [[0, -3.0]]}},
        {"boundary": {"members": [0, 1], "log_pvalues": [[0, -3.0], [1, -3.0]], "decoupled": [0, 7]}},
        {"boundary": {"members": "a", "log_pvalues": []}},
        {"boundary": None},
        {"balances": [{"members": [0, 9]}]},
        {"balances": [[[0, 9], {}]]},
        {"interactions": [{"pair": [0, 1]}]},
        {"interactions": 3},
        {"more": 1},
    ],
)
def test_boundaries_that_nobody_can_have_written_are_refused(change):
    codec = robust_codecs(4, 0)["boundaries"]
    boundary = Boundary((0, 1), ((0, -3.0), (1, -4.0)))
    written = json.loads(json.dumps(codec.write((boundary, Record()))))
    assert codec.read(2, written) == (boundary, Record())
    with pytest.raises((ValueError, TypeError, KeyError)):
        codec.read(2, {**written, **change})


def test_digests_tell_tables_apart_and_know_them_again():
    table = interacting_table(n=40_000)  # several blocks of rows
    first = digest_of(read_columns(table))
    assert digest_of(read_columns(table[list(table)[::-1]])) == first
    assert digest_of(read_columns(table.replace(0.0, -0.0))) == first
    seen = {first}
    for row in (0, 16_383, 16_384, 39_999):
        changed = table.copy()
        changed.loc[row, "d"] += 1e-9
        seen.add(digest_of(read_columns(changed)))
    swapped = table.rename(columns={"a": "b", "b": "a"})
    seen.add(digest_of(read_columns(swapped)))
    seen.add(digest_of(read_columns(table.iloc[::-1])))
    assert len(seen) == 7
