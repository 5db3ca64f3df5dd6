"""Penguins, from a file to a graph whose arrows can be checked.

The table has 344 penguins at Palmer Station, Antarctica (Gorman, Williams and Fraser, 2014, PLoS ONE 9(3)),
as in the package palmerpenguins 0.1.6 of Horst, Hill and Gorman; it is in the public domain (CC0). Its true
graph is not known, but some directions are: the size of a bird changes neither its species, nor its sex, nor
the year in which it was measured.
"""

import sys
import warnings
from pathlib import Path

import dcd

TABLE = Path(__file__).with_name("penguins.csv")
FIXED = ("species", "sex", "year")  # before and outside of everything that is measured on a bird


def main(folder: Path) -> None:
    """Audit the file, find the graph, check its arrows, draw and report."""
    print(f"{TABLE.name}:")
    print(dcd.audit(TABLE))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcd.errors.RowsLostWarning)  # the audit has reported missing values
        model = dcd.RobustDCD(missing="complete-rows").fit(TABLE)
    print(f"\n{model}")

    arrows = [arrow for arrow in model.cpdag_.directed_edges if set(arrow) & set(FIXED)]
    wrong = [f"{cause} -> {effect}" for cause, effect in arrows if effect in FIXED]
    print(f"\nNo measurement changes {', '.join(FIXED[:-1])} or {FIXED[-1]}.")
    print(f"Arrows at one of these: {len(arrows)}. Impossible ones: {len(wrong)} {', '.join(wrong)}".rstrip())

    print(f"\n{model.effect('sex', 'body_mass_g')}")

    picture, page = folder / "penguins.png", folder / "penguins.html"
    model.plot().figure.savefig(picture, dpi=150)
    dcd.report.write(dcd.summarise(model, title="Penguins at Palmer Station"), page)
    print(f"\nPicture: {picture}\nReport:  {page} (open it in a browser)")


if __name__ == "__main__":
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    output.mkdir(parents=True, exist_ok=True)
    main(output)
