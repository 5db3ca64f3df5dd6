"""People asked for their opinions and habits, or recorded by the police and in registers."""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, SEX, YEAR, Source, names

SOCIETY = (
    Source(
        "anes-thermometers",
        "stevedata/anes_partytherms",
        names("year age race4 therm_dem therm_gop educat pid7 incomeperc unemployed"),
        {"year": YEAR, "age": AGE, "race4": RACE},
        kinds={"race4": "nominal"},
        rows="age >= 17 and year not in (1984, 1992, 2000) and ~uid.duplicated()",
        note="Election surveys of many years, without those in other tables.",
    ),
    Source(
        "anes1984",
        "stevedata/anes_vote84",
        names("vote educ female south polint govrace"),
        {"female": SEX},
        note="Age is left out: it is missing in a third of the rows.",
    ),
    Source(
        "anes1992",
        "pscl/vote92",
        names("vote dem rep female persfinance natlecon bushdis"),
        {"female": SEX},
        note="People who told how they voted.",
    ),
    Source(
        "arrests",
        "carData/Arrests",
        names("released colour year age sex employed citizen checks"),
        {"colour": RACE, "year": "the calendar year", "sex": SEX},
        note="People arrested with some marijuana. Age is not exogenous: it is that at the arrest.",
    ),
    Source(
        "big-five",
        "psych/bfi",
        names("A1 A2 A3 C1 C2 C3 E1 E2 E3 N1 N2 N3 O1 O2 O3 gender education age"),
        {"gender": SEX, "age": AGE},
        note="Volunteers on a web page; the first three items of each of five scales.",
    ),
    Source(
        "bsa1986",
        "mlmRev/Socatt",
        names("numpos party class gender age religion"),
        {"gender": SEX, "age": AGE},
        orders={"class": ("lower working", "upper working", "middle")},
        rows="year == 1986",
        note="People who had answered in each of four years, of which this is the last.",
    ),
    Source(
        "census2000",
        "openintro/census",
        names("total_family_income age sex race_general marital_status total_personal_income"),
        {"age": AGE, "sex": SEX, "race_general": RACE},
        note="Personal income is missing below 15 years of age, so that adults are left.",
    ),
    Source(
        "ess5be",
        "stevedata/ESSBE5",
        names("trstplc agea female eduyrs hincfel plcpvcr"),
        {"agea": AGE, "female": SEX},
    ),
    Source(
        "ess9gb",
        "stevedata/ESS9GB",
        names("region imbgeco imueclt imwbcnt agea female eduyrs uempla hinctnta lrscale"),
        {"agea": AGE, "female": SEX},
        note="People born in the country.",
    ),
    Source(
        "natural-park",
        "Ecdat/NaturalPark",
        names("bid1 answers age sex income"),
        {"bid1": "which price was asked first, decided by the interviewers", "age": AGE, "sex": SEX},
        orders={"answers": ("nn", "ny", "yn", "yy")},
    ),
    Source(
        "recid",
        "wooldridge/recid",
        names(
            "black alcohol drugs super married felon workprg property person priors educ rules age tserved "
            "follow durat cens"
        ),
        {"black": RACE},
        note="People released from prison. Age is not exogenous: it is that at the release.",
    ),
    Source(
        "suicide-china",
        "Stat2Data/SuicideChina",
        names("Hospitalised Died Urban Year Sex Age Education Occupation method"),
        {"Year": "the calendar year", "Sex": SEX},
        orders={"Education": ("iliterate", "primary", "Secondary", "Tertiary")},
        rows="Urban != 'unknown' and Education != 'unknown'",
        note="Attempts in a county. Age is not exogenous: it is that at the attempt.",
    ),
    Source(
        "tipi",
        "heplots/TIPI",
        names(
            "Extraversion Neuroticism Conscientiousness Agreeableness Openness education urban gender "
            "engnat age religion orientation race voted married familysize"
        ),
        {"gender": SEX, "age": AGE, "race": RACE},
        orders={"education": ("<HS", "HS", "Univ", "Grad")},
        rows="age <= 100",
        note="Volunteers on a web page.",
    ),
    Source(
        "titanic",
        "vcdExtra/Titanicp",
        names("pclass survived sex sibsp parch"),
        {"sex": SEX},
        orders={"pclass": ("1st", "2nd", "3rd")},
        note="Passengers. Age is left out: it is missing in a fifth of the rows.",
    ),
    Source(
        "wvs1995",
        "carData/WVS",
        names("poverty religion degree country age gender"),
        {"age": AGE, "gender": SEX},
        orders={"poverty": ("Too Little", "About Right", "Too Much")},
        rows="country != 'USA'",
        note="Australia, Norway and Sweden; the United States are in another table.",
    ),
)
