"""Checkpoint files: truncated, damaged, foreign, unwritable, locked."""

import json
import os

import numpy as np
import pytest
from support.checkpoints import assert_same_result, interacting_table

from dcd import InputError, PartialAssociation, RobustDCD
from dcd.runtime.checkpoint import Checkpoint, Codec, Description


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
        lines[2].replace("log_pvalue", "x"),
        '{"stage": "edges", "key": [0, 1], "result": {"log_pvalue": 1.0, "balances": [1], '
        '"interactions": []}}',
        '{"stage": "edges", "key": [0, 1], "result": {"log_pvalue": 1' + "0" * 400 + ', "balances": [], '
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

    with pytest.raises(InputError, match="parameter 'test': has no text but its memory address"):
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
    RobustDCD().fit(table, checkpoint=path)  # nothing is left locked, not even by an error


def test_bad_input_makes_no_file(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    for model, wrong in ((RobustDCD(alpha=3), table), (RobustDCD(), table.assign(z=1.0))):
        with pytest.raises(InputError):
            model.fit(wrong, checkpoint=path)
    assert not path.exists()
