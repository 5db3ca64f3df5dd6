"""Pupils, students and applicants."""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, SEX, Source, names

SCHOOLS = (
    Source(
        "absence",
        "MASS/quine",
        names("Eth Sex Age Lrn Days"),
        {"Eth": RACE, "Sex": SEX},
        orders={"Age": ("F0", "F1", "F2", "F3")},
        note="Pupils of one town. The age group is that of the class, which may be an effect.",
    ),
    Source(
        "admission",
        "pscl/admit",
        names("score gre.quant gre.verbal ap pt female"),
        {"female": SEX},
        note="Applicants for a doctorate.",
    ),
    Source(
        "class-survey",
        "MASS/survey",
        names("Sex Wr.Hnd NW.Hnd W.Hnd Fold Clap Smoke Height Age"),
        {"Sex": SEX, "Age": AGE},
        orders={"Smoke": ("Never", "Occas", "Regul", "Heavy")},
        note="Students of statistics.",
    ),
    Source(
        "dutch-pupils",
        "nlme/bdf",
        names("IQ.verb IQ.perf sex Minority repeatgr aritPRET aritPOST langPRET langPOST ses"),
        {"sex": SEX, "Minority": RACE},
        note="Pupils of one grade in 131 schools: sampled by grade.",
    ),
    Source(
        "economics-students",
        "wooldridge/econmath",
        names(
            "age work study econhs colgpa hsgpa acteng actmth mathscr male calculus attexc attgood fathcoll "
            "mothcoll score"
        ),
        {"age": AGE, "male": SEX},
        note="Students of one course.",
    ),
    Source(
        "elementary-mathematics",
        "mlmRev/egsingle",
        names("math retained female black hispanic"),
        {"female": SEX, "black": RACE, "hispanic": RACE},
        rows="year == 0.5",
        note="Children of 60 schools in one year of a panel.",
    ),
    Source(
        "exam-grades",
        "openintro/exam_grades",
        names("semester sex exam1 exam2 exam3"),
        {"sex": SEX},
        note="Students of one course.",
    ),
    Source(
        "first-year-gpa",
        "Stat2Data/FirstYearGPA",
        names("GPA HSGPA SATV SATM Male HU SS FirstGen White CollegeBound"),
        {"Male": SEX, "White": RACE},
        note="Students of one college.",
    ),
    Source(
        "gpa1",
        "wooldridge/gpa1",
        names(
            "age junior senior senior5 male campus business engineer colGPA hsGPA ACT job19 job20 bike walk "
            "voluntr PC greek car bgfriend clubs skipped alcohol fathcoll mothcoll"
        ),
        {"age": AGE, "male": SEX},
        note="Students of one university.",
    ),
    Source(
        "gpa2",
        "wooldridge/gpa2",
        names("sat tothrs colgpa athlete verbmath hsize hsperc female white black"),
        {"female": SEX, "white": RACE, "black": RACE},
        note="Students of one university.",
    ),
    Source(
        "holzinger",
        "sem/HS.data",
        names(
            "Gender grade agey school visual cubes flags paragrap sentence wordm addition counting straight "
            "wordr numberr figurer object numberf figurew deduct numeric series arithmet"
        ),
        {"Gender": SEX, "agey": AGE},
        note="Pupils of grades 7 and 8 in two schools: sampled by grade, an effect of age.",
    ),
    Source(
        "mathematics-level",
        "Ecdat/Mathlevel",
        names("mathlevel sat language sex major mathcourse physiccourse chemistcourse"),
        {"sex": SEX},
        note="Students of one college.",
    ),
    Source(
        "pulse",
        "Stat2Data/Pulse",
        names("Active Rest Smoke Sex Exercise Hgt Wgt"),
        {"Sex": SEX},
        note="Students.",
    ),
    Source(
        "satgpa",
        "openintro/satgpa",
        names("sex sat_v sat_m hs_gpa fy_gpa"),
        {"sex": SEX},
        note="Students of one college.",
    ),
    Source(
        "voucher",
        "wooldridge/voucher",
        names("black hispanic female appyear mnce selectyrs choiceyrs"),
        {"black": RACE, "hispanic": RACE, "female": SEX},
        note="Pupils who had applied for a voucher, which only poor families may.",
    ),
    Source(
        "yrbs2007",
        "Stat2Data/YouthRisk2007",
        names("ride.alc.driver female grade age4 smoke"),
        {"female": SEX, "age4": AGE},
        note="Pupils of grades 9 to 12: sampled by grade, an effect of age.",
    ),
)
