"""Files are written completely or not at all: full disks, broken links, permissions, power failures."""

import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

import dcd
from dcd.runtime import files
from dcd.runtime.files import whole_file, write_text

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes, links and folders are those of POSIX")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("moment", ["write", "fsync"])
def test_a_full_disk_is_told_as_one_and_leaves_what_was_there(number, moment, tmp_path, monkeypatch):
    target = tmp_path / "result.json"
    target.write_text("old")

    def full(*_):
        raise OSError(number, os.strerror(number))

    def write():
        with whole_file(target) as file:
            file.write_text("new")
            if moment == "write":
                full()

    if moment == "fsync":
        monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(dcd.InputError, match=r"cannot be written.*Free space") as caught:
        write()
    assert "folder" not in str(caught.value)
    assert "Errno" not in str(caught.value)
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_a_link_that_leads_nowhere_is_refused(tmp_path):
    link, elsewhere = tmp_path / "link.json", tmp_path / "elsewhere.json"
    link.symlink_to(elsewhere)
    with pytest.raises(dcd.InputError, match=r"it is a link to '.*elsewhere\.json', which does not exist"):
        write_text(link, "new")
    assert not elsewhere.exists()
    loop = tmp_path / "loop.json"
    loop.symlink_to(loop)
    with pytest.raises(dcd.InputError, match="Remove the link, or choose another file"):
        write_text(loop, "new")


def test_a_name_that_can_only_be_a_folder_is_refused(tmp_path):
    with pytest.raises(dcd.InputError, match=r"it is a folder.*Choose a file, not a folder"):
        write_text(f"{tmp_path}/new/", "new")
    assert not os.listdir(tmp_path)


def test_the_remedy_fits_the_cause(tmp_path):
    with pytest.raises(dcd.InputError, match=r"name too long.*Choose a shorter name"):
        write_text(tmp_path / ("a" * 300 + ".json"), "new")
    code = (
        "import resource, signal, sys; from dcd.runtime.files import write_text\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "write_text(sys.argv[1], 'new' * 1000)"
    )
    target = tmp_path / "result.json"
    target.write_text("old")
    done = subprocess.run([sys.executable, "-c", code, str(target)], capture_output=True, text=True)
    assert "Raise the limit on the size of files" in done.stderr
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["result.json"]


def test_the_mask_of_permissions_is_used_and_never_changed(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(files.os, "umask", lambda _: pytest.fail("changed for all threads"))
        write_text(tmp_path / "new.txt", "new")
        assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)


def test_the_folder_is_on_the_disk_after_the_file_has_its_name(tmp_path, monkeypatch):
    target, synced = tmp_path / "new.txt", []
    real = os.fsync
    monkeypatch.setattr(
        files.os,
        "fsync",
        lambda handle: (
            synced.append((os.readlink(f"/proc/self/fd/{handle}"), target.exists())),
            real(handle),
        ),
    )
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("descriptors have no names here")
    write_text(target, "new")
    (first, existed), (last, exists) = synced
    assert first.startswith(str(tmp_path / ".new-"))
    assert not existed
    assert (last, exists) == (str(tmp_path), True)


def test_two_threads_write_two_files(tmp_path):
    threads = [threading.Thread(target=write_text, args=(tmp_path / f"{i}.txt", str(i))) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(os.listdir(tmp_path)) == [f"{i}.txt" for i in range(8)]
    assert {stat.S_IMODE((tmp_path / f"{i}.txt").stat().st_mode) for i in range(8)} == {0o644}
