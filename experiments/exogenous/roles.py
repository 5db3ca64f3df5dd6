"""Which tables settings may be chosen on, and which are kept for the report.

The first 76 tables were split once, before any method had been run on any of them: half to choose settings
on, half for the report. But the results on the report half were then seen after many changes, so that half no
longer tests anything that came later. All 76 now have the role "choose". The role "report" belongs to tables
that were added afterwards. They were picked by the meaning of their columns alone, before any method was run
on any of them. Once their results have led to a change, they are used up in the same way.

Apart from that, a table keeps its role. A new table gets the role "choose".
"""

from __future__ import annotations

from typing import Literal, get_args

Role = Literal["choose", "report"]
ROLES: tuple[Role, ...] = get_args(Role)

# fmt: off
REPORT = frozenset([
    "absence", "admission", "aids-australia", "alzheimer", "anes-thermometers", "anes1984", "anes1992",
    "apples", "arrests", "arthritis", "autism", "benefits", "big-five", "births1960s", "births1988",
    "births2001", "births2014", "birthwt", "bladder", "blood-storage", "blue-jays", "bone-marrow",
    "bsa1986", "budget-spain", "budget-uk", "burns", "census2000", "cgd", "class-survey", "coma",
    "cps1976", "cps1978", "cps1988", "cps1991", "cps1992-1998", "cps1993", "crabs", "credit-card",
    "crohn", "davis", "dutch-pupils", "economics-students", "economists", "elementary-mathematics",
    "ess5be", "ess9gb", "exam-grades", "first-year-gpa", "gpa1", "gpa2", "hawks", "hepatocellular",
    "hmda", "holzinger", "icu", "kidney-transplant", "kids198", "leaves", "liver", "lung-cancer",
    "mathematics-level", "medpar", "melanoma", "military", "mlb", "mock-jury", "natural-park", "nba",
    "neurocog", "nhefs", "nls-women", "nlsy-men", "olive", "parkinson-speech", "pension", "periodontal",
    "pneumonia", "possums", "prenatal-care", "professors", "protest", "psid1987", "psid1988",
    "psid1993", "pulse", "quinidine", "recid", "respiratory", "retinopathy", "rossi", "satgpa", "scat",
    "skulls", "soep1996", "std", "strep-tb", "stroke", "suicide-china", "supraclavicular",
    "swiss-labor", "tipi", "titanic", "tobacco", "udca", "unemployment", "veteran", "voucher",
    "wvs1995", "yrbs2007",
])
# fmt: on


def role_of(name: str) -> Role:
    """The role of the table with that name."""
    return "report" if name in REPORT else "choose"
