"""The examples of `make demo` run and produce their output."""

import re
import subprocess
import sys

from support.commands import ROOT, environment


def test_penguins_from_a_file_to_arrows_that_can_be_checked(tmp_path):
    script = ROOT / "examples" / "penguins.py"
    answer = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True, text=True, check=True, env=environment(MPLBACKEND="Agg"),
    )  # fmt: skip
    checked, impossible = re.search(
        r"at one of these: (\d+)\. Impossible ones: (\d+)", answer.stdout
    ).groups()
    assert int(checked) >= 5
    assert int(impossible) == 0
    assert (tmp_path / "penguins.png").stat().st_size > 10_000
    assert "Penguins at Palmer Station" in (tmp_path / "penguins.html").read_text(encoding="utf-8")
