"""People and households: work, wages, spending and loans."""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, SEX, YEAR, Source, names

_EXPERIENCE = "Experience is computed from age, which is not in the table."

LABOUR = (
    Source(
        "benefits",
        "Ecdat/Benefits",
        names(
            "stateur statemb age tenure joblost nwhite school12 sex smsa married dkids dykids yrdispl rr "
            "head ui"
        ),
        {"nwhite": RACE, "sex": SEX},
        note="Blue-collar workers who lost their jobs. Age is not exogenous: it is that at the loss.",
    ),
    Source(
        "budget-spain",
        "Ecdat/BudgetFood",
        names("wfood totexp age size town sex"),
        {"age": AGE},
        note="Households. The sex is not exogenous: who counts as the reference person may be an effect.",
    ),
    Source(
        "budget-uk",
        "Ecdat/BudgetUK",
        names("wfood wfuel wcloth walc wtrans totexp income age children"),
        {"age": AGE},
        note="Households with one child or two. Of the shares, which sum to one, the last is left out.",
    ),
    Source(
        "cps1976",
        "wooldridge/wage1",
        names(
            "wage educ exper tenure nonwhite female married numdep smsa northcen south west construc "
            "ndurman trcommpu trade services profserv profocc clerocc servocc"
        ),
        {"nonwhite": RACE, "female": SEX},
        note=f"People in work. {_EXPERIENCE}",
    ),
    Source(
        "cps1978",
        "wooldridge/cps78_85",
        names("educ south nonwhite female married union lwage age"),
        {"nonwhite": RACE, "female": SEX, "age": AGE},
        rows="year == 78",
        note="People in work. The rows of 1985 are those of the table cps1985.",
    ),
    Source(
        "cps1988",
        "AER/CPS1988",
        names("wage education experience ethnicity smsa region parttime"),
        {"ethnicity": RACE},
        note=f"Men in work. {_EXPERIENCE}",
    ),
    Source(
        "cps1991",
        "wooldridge/cps91",
        names(
            "husage husearns huseduc husblck hushisp hushrs kidge6 earns age black educ hispanic faminc "
            "kidlt6 hours"
        ),
        {"age": AGE, "black": RACE, "hispanic": RACE},
        note="Married women. What the husband is is not exogenous: whom she marries may be an effect.",
    ),
    Source(
        "cps1992-1998",
        "AER/CPSSW9298",
        names("year earnings degree gender age"),
        {"year": YEAR, "gender": SEX, "age": AGE},
        orders={"degree": ("highschool", "bachelor")},
        note="People of 25 to 34 in full-time work with one of the two degrees.",
    ),
    Source(
        "cps1993",
        "Ecdat/HI",
        names("whrswk hhi whi education race hispanic experience kidslt6 kids618 husby region"),
        {"race": RACE, "hispanic": RACE},
        orders={"education": ("<9years", "9-11years", "12years", "13-15years", "16years", ">16years")},
        note=f"Married women. {_EXPERIENCE}",
    ),
    Source(
        "credit-card",
        "AER/CreditCard",
        names("card reports age income expenditure owner selfemp dependents months majorcards active"),
        {"age": AGE},
        rows="age >= 18",
        note="Applicants for a credit card; a few impossible ages are left out.",
    ),
    Source(
        "economists",
        "wooldridge/big9salary",
        names("salary pubindx totpge assist assoc chair top20phd exper female"),
        {"female": SEX},
        rows="year == 99",
        note="Professors of economics at nine universities.",
    ),
    Source(
        "hmda",
        "AER/HMDA",
        names(
            "deny pirat hirat lvrat chist mhist phist unemp selfemp insurance condomin afam single hschool"
        ),
        {"afam": RACE},
        note="Applicants for a mortgage.",
    ),
    Source(
        "military",
        "openintro/military",
        names("grade branch gender race hisp rank"),
        {"gender": SEX, "race": RACE, "hisp": RACE},
        rows="race != 'unk'",
        note="Members of the armed forces.",
    ),
    Source(
        "mlb",
        "wooldridge/mlb1",
        names(
            "salary nl years gamesyr bavg hrunsyr rbisyr runsyr sbasesyr fldperc allstar frstbase "
            "scndbase shrtstop thrdbase outfield hispan black"
        ),
        {"hispan": RACE, "black": RACE},
        note="Professional baseball players.",
    ),
    Source(
        "nba",
        "wooldridge/nbasal",
        names(
            "marr wage exper age coll games minutes guard forward points rebounds assists allstar black "
            "children"
        ),
        {"age": AGE, "black": RACE},
        note="Professional basketball players.",
    ),
    Source(
        "nls-women",
        "sampleSelection/nlswork",
        names(
            "age race msp nev_mar grade not_smsa c_city south ind_code occ_code ttl_exp tenure hours ln_wage"
        ),
        {"age": AGE, "race": RACE},
        kinds={"race": "nominal", "ind_code": "nominal", "occ_code": "nominal"},
        rows="year == 88",
        note="Women of 34 to 46 in work, in the last year of a panel.",
    ),
    Source(
        "nlsy-men",
        "wooldridge/wagepan",
        names("black exper hisp poorhlth hours married nrthcen nrtheast rur south educ union lwage"),
        {"black": RACE, "hisp": RACE},
        rows="year == 1987",
        note=f"Young men in work in each of eight years, of which this is the last. {_EXPERIENCE}",
    ),
    Source(
        "pension",
        "wooldridge/pension",
        names("pyears prftshr choice female married age educ wealth89 black stckin89 irain89 pctstck"),
        {"female": SEX, "age": AGE, "black": RACE},
        rows="~id.duplicated()",
        note="People near retirement with a pension plan; one row a household.",
    ),
    Source(
        "professors",
        "carData/Salaries",
        names("rank discipline yrs.since.phd yrs.service sex salary"),
        {"sex": SEX},
        orders={"rank": ("AsstProf", "AssocProf", "Prof")},
        note="Professors of one college.",
    ),
    Source(
        "psid1987",
        "Ecdat/Workinghours",
        names("hours income age education child5 child13 child17 nonwhite owned mortgage occupation unemp"),
        {"age": AGE, "nonwhite": RACE},
        note="Wives; the occupation is the husband's.",
    ),
    Source(
        "psid1988",
        "plm/LaborSupply",
        names("lnhr lnwg kids age disab"),
        {"age": AGE},
        rows="year == 1988",
        note="Men in work in each of ten years, of which this is the last.",
    ),
    Source(
        "psid1993",
        "Ecdat/PSID",
        names("age educatn earnings hours kids married"),
        {"age": AGE},
        rows=(
            "educatn < 90 and kids < 90 and married not in ('no histories', 'NA/DF') and ~intnum.duplicated()"
        ),
        note="People of 30 to 50; one row a family.",
    ),
    Source(
        "swiss-labor",
        "AER/SwissLabor",
        names("participation income age education youngkids oldkids foreign"),
        {"age": AGE},
        note="Married women.",
    ),
    Source(
        "tobacco",
        "Ecdat/Tobacco",
        names("occupation region nkids nkids2 nadults lnx stobacco salcohol age"),
        {"age": AGE},
        note="Households, with the age of the head in brackets.",
    ),
    Source(
        "unemployment",
        "Ecdat/Unemployment",
        names("duration spell race sex reason search pubemp ftp1"),
        {"race": RACE, "sex": SEX},
        note="Unemployed people.",
    ),
)
