"""Background knowledge about a table of patients, with a statement of every kind."""

from dcd import Knowledge

COLUMNS = ("age", "sex", "lab_1", "lab_2", "Lab_3", "death")

FULL = Knowledge(
    forbidden=[("lab_*", "age")],
    required=[("age", "death")],
    no_edge=[("age", "sex")],
    tiers=[["age", "sex"], ["*"]],
    roots=["sex"],
    leaves=["death"],
    within_tiers="forbidden",
)
