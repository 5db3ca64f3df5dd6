"""A regression net: what both estimators, `MarkovBoundary` and the command line make of small tables.

Digests of plain values, kept in `digests.json`. While code moves, none of them may change; a change that is
meant is written with `python -m pytest tests/net --renew`.
"""

import json
from pathlib import Path

import pytest

from net.cases import (
    BOUNDARIES,
    COMMANDS,
    FITS,
    account_of_boundary,
    account_of_command,
    account_of_fit,
    digest,
)

KEPT = Path(__file__).with_name("digests.json")


def compare(name, account, renew):
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    digests = {part: digest(value) for part, value in account.items()}
    if renew:
        KEPT.write_text(json.dumps(dict(sorted({**kept, name: digests}.items())), indent=1) + "\n")
    else:
        assert digests == kept[name]


@pytest.mark.parametrize("name", FITS)
def test_fit(name, renew):
    compare(name, account_of_fit(name), renew)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundary(name, renew):
    compare(name, account_of_boundary(name), renew)


@pytest.mark.parametrize("name", COMMANDS)
def test_command(name, renew, tmp_path):
    compare(name, account_of_command(name, tmp_path), renew)
