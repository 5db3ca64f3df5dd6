"""The code blocks of the guides on confidence and plots run as they stand, one after the other."""

import re
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

GUIDES = Path(__file__).parent.parent / "docs" / "guides"


@pytest.mark.parametrize("guide", ["confidence", "plots"])
def test_the_guide_runs(guide, monkeypatch, tmp_path):
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    path = GUIDES / f"{guide}.md"
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) >= 5
    namespace = {}
    for block in blocks:
        exec(compile(block, str(path), "exec"), namespace)
    plt.close("all")
