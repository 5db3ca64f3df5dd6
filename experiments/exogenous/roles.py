"""Which tables settings may be chosen on, and which are kept for the report.

Split once, before any method was run on any of the tables: names in alphabetical order, one for each role in
turn. A table keeps its role. A new one gets "choose".
"""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["choose", "report"]
ROLES: tuple[Role, ...] = get_args(Role)

# fmt: off
REPORT = frozenset([
    "affairs", "ais", "auto", "beauty", "black-politicians", "ces11", "college-distance", "computers",
    "credit", "doctor-visits", "fertil2", "flchain", "fruit-flies", "gss-wages", "help-rct", "jobs",
    "k401ksubs", "licorice", "mgus2", "mm-nhis", "nass-cds", "nesarc", "pbc", "pharmaco-smoking",
    "pines", "psid1982", "rwm1984", "sleep75", "smoke", "social-insure", "star", "thornton-hiv",
    "trump-vote", "uis", "un", "vote-income", "wage2", "yrbss",
])
# fmt: on


def role_of(name: str) -> Role:
    """The role of the table with that name."""
    return "report" if name in REPORT else "choose"
