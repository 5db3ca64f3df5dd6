"""Animals and plants, bodies of people, and things."""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, SEX, Source, names

_SPECIES = "the species is inherited"

NATURE = (
    Source(
        "blue-jays",
        "Stat2Data/BlueJays",
        names("KnownSex BillDepth BillWidth BillLength Head Mass"),
        {"KnownSex": SEX},
    ),
    Source(
        "crabs",
        "MASS/crabs",
        names("sp sex FL RW CL CW BD"),
        {"sp": _SPECIES, "sex": SEX},
        note="Fifty of each form and sex.",
    ),
    Source(
        "davis",
        "carData/Davis",
        names("sex weight height repwt repht"),
        {"sex": SEX},
        note="People who exercise.",
    ),
    Source(
        "hawks",
        "Stat2Data/Hawks",
        names("Species Age Wing Weight Culmen Hallux Tail"),
        {"Species": _SPECIES, "Age": AGE},
        orders={"Age": ("I", "A")},
        note="Birds that were caught.",
    ),
    Source(
        "kids198",
        "Stat2Data/Kids198",
        names("Height Weight Age Sex Race"),
        {"Age": AGE, "Sex": SEX, "Race": RACE},
    ),
    Source(
        "leaves",
        "modeldata/leaf_id_flavia",
        names(
            "species area perimeter physiological_length physiological_width contrast correlation_texture "
            "entropy mean_red_val mean_green_val mean_blue_val std_green_val"
        ),
        {"species": _SPECIES},
        note="Photographs of leaves.",
    ),
    Source(
        "olive",
        "dslabs/olive",
        names("region palmitic palmitoleic stearic oleic linoleic linolenic arachidic eicosenoic"),
        {"region": "where the olives grew"},
        note="Oils; the acids are shares of the whole.",
    ),
    Source(
        "possums",
        "DAAG/possum",
        names("Pop sex age hdlngth skullw totlngth taill footlgth earconch eye chest belly"),
        {"sex": SEX, "age": AGE},
        note="Animals that were caught.",
    ),
    Source(
        "scat",
        "modeldata/scat",
        names("Species Site Location Age Number Length Mass d13C d15N CN ropey segmented flat scrape"),
        {"Species": _SPECIES},
        note="Droppings of three predators.",
    ),
    Source(
        "skulls",
        "heplots/Skulls",
        names("epoch mb bh bl nh"),
        {"epoch": "the epoch in which somebody lived"},
        orders={"epoch": ("c4000BC", "c3300BC", "c1850BC", "c200BC", "cAD150")},
        note="Thirty skulls of each epoch.",
    ),
)
