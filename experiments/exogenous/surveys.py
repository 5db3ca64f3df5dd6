"""Tables in which a row is a person who was asked or registered."""

from __future__ import annotations

from experiments.exogenous.base import AGE, BIRTHPLACE, RACE, SEX, YEAR, Source, names

SURVEYS = (
    Source(
        "acs12",
        "openintro/acs12",
        names("income employment race age gender citizen lang married edu disability birth_qrtr"),
        {"race": RACE, "age": AGE, "gender": SEX, "birth_qrtr": "the quarter of birth is fixed at birth"},
        orders={"edu": ("hs or lower", "college", "grad")},
        note="American Community Survey; income is missing below 15 years of age, so that adults are left.",
    ),
    Source(
        "affairs",
        "AER/Affairs",
        names("affairs gender age yearsmarried children religiousness education occupation rating"),
        {"gender": SEX, "age": AGE},
        note="Readers of a magazine who answered, all married.",
    ),
    Source(
        "alcohol",
        "wooldridge/alcohol",
        names(
            "abuse status unemrate age educ married famsize white exhealth beertax cigtax ethanol "
            "mothalc fathalc livealc"
        ),
        {"age": AGE, "white": RACE},
        kinds={"status": "nominal"},
        note="Men aged 25 to 59.",
    ),
    Source(
        "beauty",
        "wooldridge/beauty",
        names("wage exper looks union goodhlth black female married south bigcity smllcity service educ"),
        {"black": RACE, "female": SEX},
        note="People with a wage. Experience is computed from age, which is not in the table.",
    ),
    Source(
        "beps",
        "carData/BEPS",
        names(
            "vote age economic.cond.national economic.cond.household Blair Hague Kennedy Europe "
            "political.knowledge gender"
        ),
        {"age": AGE, "gender": SEX},
    ),
    Source(
        "catholic",
        "wooldridge/catholic",
        names("read12 math12 female asian hispan black motheduc fatheduc lfaminc cathhs parcath"),
        {"female": SEX, "asian": RACE, "hispan": RACE, "black": RACE},
        note="Pupils of grade 12; those who left school before are missing.",
    ),
    Source(
        "ces11",
        "carData/CES11",
        names("province gender abortion importance education urban"),
        {"gender": SEX},
        orders={
            "importance": ("not", "notvery", "somewhat", "very"),
            "education": ("lessHS", "HS", "somePS", "college", "bachelors", "higher"),
        },
    ),
    Source(
        "chile",
        "carData/Chile",
        names("region population sex age education income statusquo vote"),
        {"sex": SEX, "age": AGE},
        orders={"education": ("P", "S", "PS")},
    ),
    Source(
        "college-distance",
        "AER/CollegeDistance",
        names(
            "gender ethnicity score fcollege mcollege home urban unemp wage distance tuition education "
            "income region"
        ),
        {"gender": SEX, "ethnicity": RACE},
        note="High-school seniors, followed for six years.",
    ),
    Source(
        "cps1985",
        "AER/CPS1985",
        names("wage education age ethnicity region gender occupation sector union married"),
        {"age": AGE, "ethnicity": RACE, "gender": SEX},
        note="People in work. Experience is left out: it is age less years of education less 6.",
    ),
    Source(
        "credit",
        "modeldata/credit_data",
        names("Status Seniority Home Time Age Marital Records Job Expenses Income Assets Debt Amount Price"),
        {"Age": AGE},
        note="Applicants for a loan.",
    ),
    Source(
        "crime1",
        "wooldridge/crime1",
        names("narr86 pcnv avgsen tottime ptime86 qemp86 inc86 durat black hispan born60"),
        {"black": RACE, "hispan": RACE, "born60": "the year of birth"},
        note="Men of two birth years who had been arrested before.",
    ),
    Source(
        "doctor-visits",
        "AER/DoctorVisits",
        names("visits gender age income illness reduced health private freepoor freerepat nchronic lchronic"),
        {"gender": SEX, "age": AGE},
        note="Single-person households.",
    ),
    Source(
        "ess10no",
        "stevedata/ESS10NO",
        names("region brnnorge agea imbgeco imueclt imwbcnt female eduyrs uempla polint hinctnta lrscale"),
        {"brnnorge": BIRTHPLACE, "agea": AGE, "female": SEX},
    ),
    Source(
        "fertil2",
        "wooldridge/fertil2",
        names(
            "mnthborn age electric radio tv bicycle educ children knowmeth usemeth idlnchld urban evermarr"
        ),
        {"mnthborn": "the month of birth is fixed at birth", "age": AGE},
        note="Women of Botswana aged 15 to 49.",
    ),
    Source(
        "fertility",
        "AER/Fertility2",
        names("morekids gender1 gender2 age afam hispanic other work"),
        {
            "gender1": "the sex of a child is fixed at conception",
            "gender2": "the sex of a child is fixed at conception",
            "age": AGE,
            "afam": RACE,
            "hispanic": RACE,
            "other": RACE,
        },
        note="Married women of 21 to 35 with two children or more: selected by an effect of age.",
    ),
    Source(
        "gsoep",
        "AER/GSOEP9402",
        names("school birthyear gender kids parity income size state marital meducation memployment"),
        {"birthyear": "the year of birth", "gender": SEX},
        orders={"school": ("Hauptschule", "Realschule", "Gymnasium")},
        note="Children of 14 in secondary school; the rest of the columns describes the household then.",
    ),
    Source(
        "gss-wages",
        "stevedata/gss_wages",
        names("year realrinc age prestg10 childs wrkstat gender educcat maritalcat"),
        {"year": YEAR, "age": AGE, "gender": SEX},
        orders={
            "educcat": ("Less Than High School", "High School", "Junior College", "Bachelor", "Graduate")
        },
        note="People with an income.",
    ),
    Source(
        "health-insurance",
        "AER/HealthInsurance",
        names("health age limit gender insurance married selfemp family region ethnicity education"),
        {"age": AGE, "gender": SEX, "ethnicity": RACE},
        note="People in work.",
    ),
    Source(
        "k401ksubs",
        "wooldridge/k401ksubs",
        names("e401k inc marr male age fsize nettfa p401k pira"),
        {"male": SEX, "age": AGE},
        note="Heads of households, 25 to 64, with some income.",
    ),
    Source(
        "kakadu",
        "Ecdat/Kakadu",
        names(
            "answer recparks jobs lowrisk wildlife future aboriginal finben mineparks moreparks gov "
            "envcon vparks tvenv conservation sex age schooling income major"
        ),
        {"sex": SEX, "age": AGE, "major": "which scenario was read out, decided by the interviewers"},
        orders={"answer": ("nn", "ny", "yy")},
        rows="future <= 5",
    ),
    Source(
        "medicaid",
        "AER/Medicaid1986",
        names(
            "visits children age income health1 health2 access married gender ethnicity school enroll program"
        ),
        {"age": AGE, "gender": SEX, "ethnicity": RACE},
        note="Two programmes, for families and for the old and disabled: selected by age.",
    ),
    Source(
        "mm-nhis",
        "stevedata/mm_nhis",
        names("fml hi hlth nwhite age yedu famsize empl inc"),
        {"fml": SEX, "nwhite": RACE, "age": AGE},
        note="Married couples of 26 to 59; husband and wife are two rows.",
    ),
    Source(
        "mroz",
        "AER/PSID1976",
        names(
            "hours youngkids oldkids age education hhours hage heducation hwage fincome meducation "
            "feducation unemp city experience"
        ),
        {"age": AGE},
        note="Married women. The husband's age is no exogenous column: whom she marries may be an effect.",
    ),
    Source(
        "nesarc",
        "stevedata/nesarc_drinkspd",
        names("ethrace2a region age sex marital educ s2aq8b"),
        {"ethrace2a": RACE, "age": AGE, "sex": SEX},
        kinds={"ethrace2a": "nominal", "region": "nominal", "marital": "nominal"},
        rows="s2aq8b < 99",
        note="People who drink; s2aq8b is the number of drinks on a usual day.",
    ),
    Source(
        "nmes1988",
        "AER/NMES1988",
        names(
            "visits nvisits ovisits novisits emergency hospital health chronic adl region age afam "
            "gender married school income employed insurance medicaid"
        ),
        {"age": AGE, "afam": RACE, "gender": SEX},
        orders={"health": ("poor", "average", "excellent")},
        note="People of 66 and more who are covered by Medicare.",
    ),
    Source(
        "phd",
        "AER/PhDPublications",
        names("articles gender married kids prestige mentor"),
        {"gender": SEX},
        note="Biochemists with a doctorate.",
    ),
    Source(
        "political-information",
        "pscl/politicalInformation",
        names("y collegeDegree female age homeOwn govt length"),
        {"female": SEX, "age": AGE},
        orders={"y": ("Very Low", "Fairly Low", "Average", "Fairly High", "Very High")},
    ),
    Source(
        "psid1982",
        "AER/PSID1982",
        names(
            "experience weeks occupation industry south smsa married gender union education ethnicity wage"
        ),
        {"gender": SEX, "ethnicity": RACE},
        note="People in work.",
    ),
    Source(
        "rwm1984",
        "COUNT/rwm1984",
        names("docvis hospvis age outwork female married kids hhninc educ self"),
        {"age": AGE, "female": SEX},
        note="Residents of Germany aged 25 to 64.",
    ),
    Source(
        "sat-act",
        "psych/sat.act",
        names("gender education age ACT SATV SATQ"),
        {"gender": SEX, "age": AGE},
        note="Volunteers on a web page.",
    ),
    Source(
        "sleep75",
        "wooldridge/sleep75",
        names("age black educ gdhlth smsa male marr selfe sleep south totwrk union yngkid yrsmarr"),
        {"age": AGE, "black": RACE, "male": SEX},
    ),
    Source(
        "slid",
        "carData/SLID",
        names("wages education age sex language"),
        {"age": AGE, "sex": SEX},
        note="People with a wage.",
    ),
    Source(
        "smoke",
        "wooldridge/smoke",
        names("educ cigpric white age income cigs restaurn"),
        {"white": RACE, "age": AGE},
    ),
    Source(
        "smoke-ban",
        "AER/SmokeBan",
        names("smoker ban age education afam hispanic gender"),
        {"age": AGE, "afam": RACE, "hispanic": RACE, "gender": SEX},
        orders={"education": ("hs drop out", "hs", "some college", "college", "master")},
        note="Indoor workers.",
    ),
    Source(
        "trump-vote",
        "stevedata/TV16",
        names(
            "votetrump age female collegeed racef famincr ideo pid7na bornagain religimp churchatd "
            "prayerfreq angryracism whiteadv fearraces racerare"
        ),
        {"age": AGE, "female": SEX, "racef": RACE},
        note="People who told how they voted.",
    ),
    Source(
        "twoyear",
        "wooldridge/twoyear",
        names("female phsrank BA AA black hispanic exper jc univ lwage stotal"),
        {"female": SEX, "black": RACE, "hispanic": RACE},
        note="High-school graduates with a wage.",
    ),
    Source(
        "uk-smoking",
        "openintro/smoking",
        names("gender age marital_status highest_qualification ethnicity gross_income region smoke"),
        {"gender": SEX, "age": AGE, "ethnicity": RACE},
        orders={
            "gross_income": (
                "Under 2,600",
                "2,600 to 5,200",
                "5,200 to 10,400",
                "10,400 to 15,600",
                "15,600 to 20,800",
                "20,800 to 28,600",
                "28,600 to 36,400",
                "Above 36,400",
            )
        },
        rows="gross_income not in ('Refused', 'Unknown') and ethnicity not in ('Refused', 'Unknown')",
    ),
    Source(
        "vietnam",
        "Ecdat/VietNamI",
        names("pharvis lnhhexp age sex married educ illness injury illdays actdays insurance"),
        {"age": AGE, "sex": SEX},
        note="Members of households of all ages; age is on a logarithmic scale.",
    ),
    Source(
        "vote-income",
        "stevedata/voteincome",
        names("state vote income education age female"),
        {"age": AGE, "female": SEX},
        note="Two states of the Current Population Survey.",
    ),
    Source(
        "wage",
        "ISLR/Wage",
        names("year age maritl race education jobclass health health_ins wage"),
        {"year": YEAR, "age": AGE, "race": RACE},
        orders={
            "education": (
                "1. < HS Grad",
                "2. HS Grad",
                "3. Some College",
                "4. College Grad",
                "5. Advanced Degree",
            )
        },
        note="Men in work.",
    ),
    Source(
        "wage2",
        "wooldridge/wage2",
        names("wage hours IQ KWW educ exper tenure age married black south urban sibs brthord meduc feduc"),
        {"age": AGE, "black": RACE},
        note="Young men in work.",
    ),
    Source(
        "wvs-usa",
        "stevedata/wvs_usa_abortion",
        names(
            "year aj age female unemployed ideology satisfinancial trustmostpeople godimportant "
            "respectauthority nationalpride"
        ),
        {"year": YEAR, "age": AGE, "female": SEX},
    ),
    Source(
        "yrbss",
        "openintro/yrbss",
        names(
            "age gender grade hispanic height weight physically_active_7d hours_tv_per_school_day "
            "strength_training_7d school_night_hours_sleep"
        ),
        {"age": AGE, "gender": SEX, "hispanic": RACE},
        orders={
            "grade": ("9", "10", "11", "12"),
            "hours_tv_per_school_day": ("do not watch", "<1", "1", "2", "3", "4", "5+"),
            "school_night_hours_sleep": ("<5", "5", "6", "7", "8", "9", "10+"),
        },
        rows="grade != 'other'",
        note="Pupils of grades 9 to 12: sampled by grade, an effect of age.",
    ),
)
