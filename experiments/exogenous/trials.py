"""Experiments: a treatment, a price or a story that was assigned at random.

The age of patients is not an exogenous column, as in `health.py`.
"""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, RANDOMISED, SEX, Source, names

TRIALS = (
    Source(
        "apples",
        "wooldridge/apple",
        names("educ ecoprc inseason male faminc age reglbs ecolbs numlt5 num5_17 num18_64 numgt64"),
        {"ecoprc": RANDOMISED, "male": SEX, "age": AGE},
        note="People on the telephone. The other price, which this one fixes, is left out.",
    ),
    Source(
        "arthritis",
        "multgee/arthritis",
        names("y sex age trt baseline"),
        {"sex": SEX, "trt": RANDOMISED},
        rows="time == 5",
        note="Patients; the last visit of each.",
    ),
    Source(
        "bladder",
        "survival/bladder1",
        names("treatment number size stop status"),
        {"treatment": RANDOMISED},
        kinds={"status": "nominal"},
        rows="enum == 1",
        note="Patients with tumours of the bladder, up to the first recurrence.",
    ),
    Source(
        "cgd",
        "survival/cgd",
        names("treat sex age height weight inherit steroids propylac hos.cat tstop status"),
        {"treat": RANDOMISED, "sex": SEX, "inherit": "the gene that is changed is inherited"},
        rows="enum == 1",
        note="Patients with an inherited disease, up to the first infection.",
    ),
    Source(
        "crohn",
        "robustbase/CrohnD",
        names("nrAdvE height country sex age weight treat"),
        {"sex": SEX, "treat": RANDOMISED},
        orders={"treat": ("placebo", "d1", "d2")},
        note="Patients with Crohn's disease.",
    ),
    Source(
        "liver",
        "texmex/liver",
        names("ALP.B ALT.B AST.B TBL.B ALP.M ALT.M AST.M TBL.M dose"),
        {"dose": RANDOMISED},
        orders={"dose": ("A", "B", "C", "D")},
        note="Patients of a trial, before it and during it.",
    ),
    Source(
        "mock-jury",
        "heplots/MockJury",
        names(
            "Attr Crime Years Serious exciting calm independent sincere warm phyattr sociable kind "
            "intelligent strong sophisticated happy ownPA"
        ),
        {"Attr": RANDOMISED, "Crime": RANDOMISED},
        orders={"Attr": ("Unattractive", "Average", "Beautiful")},
        note="Men who judged a case with a photograph.",
    ),
    Source(
        "periodontal",
        "medicaldata/opt",
        names(
            "Clinic Group Age Black Education Public.Asstce Hypertension Diabetes Use.Tob Use.Alc "
            "Prev.preg N.qualifying.teeth BL.GE BL..BOP BL.PD.avg BL.CAL.avg GA.at.outcome Birthweight Apgar5"
        ),
        {"Group": RANDOMISED, "Black": RACE},
        orders={"Education": ("LT 8 yrs ", "8-12 yrs ", "MT 12 yrs")},
        rows="`Use.Tob` != '   ' and `Use.Alc` != '   '",
        note="Pregnant women with a disease of the gums, those whose child was born.",
    ),
    Source(
        "protest",
        "psych/Garcia",
        names("protest sexism anger liking respappr"),
        {"protest": RANDOMISED},
        kinds={"protest": "nominal"},
        note="Women who read a story.",
    ),
    Source(
        "respiratory",
        "geepack/respiratory",
        names("center treat sex age baseline outcome"),
        {"treat": RANDOMISED, "sex": SEX},
        rows="visit == 4",
        note="Patients with a respiratory illness; the last visit of each.",
    ),
    Source(
        "retinopathy",
        "survival/retinopathy",
        names("laser age trt futime status risk"),
        {"trt": RANDOMISED},
        rows="trt == id % 2",
        note="Diabetics with one treated eye each: one row a patient, by the parity of a number.",
    ),
    Source(
        "rossi",
        "carData/Rossi",
        names("week arrest fin age race wexp mar paro prio educ"),
        {"fin": RANDOMISED, "race": RACE},
        note="Men released from prison. Age is not exogenous: it is that at the release.",
    ),
    Source(
        "strep-tb",
        "medicaldata/strep_tb",
        names(
            "arm gender baseline_condition baseline_temp baseline_esr baseline_cavitation strep_resistance "
            "rad_num"
        ),
        {"arm": RANDOMISED, "gender": SEX},
        orders={
            "baseline_condition": ("1_Good", "2_Fair", "3_Poor"),
            "baseline_temp": ("1_98-98.9F", "2_99-99.9F", "3_100-100.9F", "4_100F+"),
            "baseline_esr": ("2_11-20", "3_21-50", "4_51+"),
            "strep_resistance": ("1_sens_0-8", "2_mod_8-99", "3_resist_100+"),
        },
        note="Patients with tuberculosis.",
    ),
    Source(
        "supraclavicular",
        "medicaldata/supraclavicular",
        names(
            "group gender age fentanyl alfentanil midazolam onset_sensory onset_first_sensory onset_motor "
            "med_duration med_censor vps_rest vps_movement opioid_total"
        ),
        {"group": RANDOMISED, "gender": SEX},
        note="Patients before surgery of the arm.",
    ),
    Source(
        "udca",
        "survival/udca1",
        names("trt stage bili futime status"),
        {"trt": RANDOMISED},
        note="Patients with a disease of the liver; not those of the table pbc.",
    ),
    Source(
        "veteran",
        "survival/veteran",
        names("trt celltype time status karno diagtime age prior"),
        {"trt": RANDOMISED},
        note="Men with cancer of the lung.",
    ),
)
