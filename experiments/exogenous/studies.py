"""Experiments, patients, animals, plants and things.

The age of patients is not an exogenous column here: it is the age at which somebody fell ill or was treated,
which may well be an effect.
"""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, RANDOMISED, SEX, Source, names

STUDIES = (
    Source(
        "airquality",
        "datasets/airquality",
        names("Ozone Solar.R Wind Temp Month Day"),
        {"Month": "the calendar", "Day": "the calendar"},
        note="Days of one summer, one after the other.",
    ),
    Source(
        "ais",
        "DAAG/ais",
        names("rcc wcc hc hg ferr ssf pcBfat ht wt sex sport"),
        {"sex": SEX},
        note="Athletes of a national institute.",
    ),
    Source(
        "auto",
        "ISLR/Auto",
        names("mpg cylinders displacement horsepower weight acceleration year origin"),
        {"year": "the calendar year in which a model came to the market"},
        kinds={"origin": "nominal"},
    ),
    Source(
        "bdims",
        "openintro/bdims",
        names(
            "bia_di bii_di bit_di che_de che_di elb_di wri_di kne_di ank_di sho_gi che_gi wai_gi nav_gi "
            "hip_gi thi_gi bic_gi for_gi kne_gi cal_gi ank_gi wri_gi age wgt hgt sex"
        ),
        {"sex": SEX, "age": AGE},
        note="Physically active people.",
    ),
    Source(
        "black-politicians",
        "causaldata/black_politicians",
        names("leg_black treat_out responded totalpop medianhhincom black_medianhh white_medianhh")
        + names(
            "blackpercent statessquireindex nonblacknonwhite urbanpercent leg_senator leg_democrat south"
        ),
        {"treat_out": RANDOMISED},
    ),
    Source(
        "colon",
        "survival/colon",
        names("rx sex age obstruct perfor adhere nodes status differ extent surg time"),
        {"rx": RANDOMISED, "sex": SEX},
        rows="etype == 2",
        note="Patients after surgery for cancer of the colon; one row each, to death.",
    ),
    Source(
        "computers",
        "Ecdat/Computers",
        names("price speed hd ram screen cd multi premium ads trend"),
        {"trend": "the calendar month in which the offer was printed"},
        note="Offers in advertisements over 35 months.",
    ),
    Source(
        "flchain",
        "survival/flchain",
        names("age sex sample.yr kappa lambda creatinine mgus futime death"),
        {"age": AGE, "sex": SEX, "sample.yr": "the calendar year in which the study took the sample"},
        note="Residents of a county of 50 and more.",
    ),
    Source(
        "framing",
        "mediation/framing",
        names("age educ gender income emo p_harm tone eth english immigr anti_info cong_mesg"),
        {"tone": RANDOMISED, "eth": RANDOMISED, "age": AGE, "gender": SEX},
        orders={
            "educ": ("less than high school", "high school", "some college", "bachelor's degree or higher"),
            "english": ("Strongly Oppose", "Oppose", "Favor", "Strongly Favor"),
        },
    ),
    Source(
        "fruit-flies",
        "Stat2Data/FruitFlies",
        names("Treatment Longevity Thorax Sleep"),
        {"Treatment": RANDOMISED},
    ),
    Source(
        "help-rct",
        "mosaicData/HELPrct",
        names(
            "age cesd d1 drugrisk sex g1b homeless i1 i2 indtot mcs pcs pss_fr racegrp satreat sexrisk "
            "substance treat"
        ),
        {"treat": RANDOMISED, "sex": SEX, "racegrp": RACE},
        note="Adult inpatients of a detoxification unit.",
    ),
    Source(
        "indomethacin",
        "medicaldata/indo_rct",
        names(
            "rx gender age outcome sod pep recpanc psphinc precut difcan amp paninj acinar brush "
            "pdstent train status"
        ),
        {"rx": RANDOMISED, "gender": SEX},
        note="Patients with a high risk of the outcome, which several columns define.",
    ),
    Source(
        "jobs",
        "mediation/jobs",
        names(
            "treat econ_hard depress1 sex age occp marital nonwhite educ income job_seek depress2 work1 "
            "comply"
        ),
        {"treat": RANDOMISED, "sex": SEX, "age": AGE, "nonwhite": RACE},
        orders={
            "educ": ("lt-hs", "highsc", "somcol", "bach", "gradwk"),
            "income": ("lt15k", "15t24k", "25t39k", "40t49k", "50k+"),
        },
        note="Unemployed workers.",
    ),
    Source(
        "jtrain2",
        "wooldridge/jtrain2",
        names("train age educ black hisp married re74 re75 re78"),
        {"train": RANDOMISED, "age": AGE, "black": RACE, "hisp": RACE},
        note="Men with little success at work, who were let into the programme for that.",
    ),
    Source(
        "licorice",
        "medicaldata/licorice_gargle",
        names(
            "preOp_gender preOp_asa preOp_calcBMI preOp_age preOp_mallampati preOp_smoking preOp_pain treat"
        )
        + names(
            "intraOp_surgerySize extubation_cough pacu30min_cough pacu30min_throatPain "
            "pacu30min_swallowPain pacu90min_cough pacu90min_throatPain postOp4hour_cough "
            "postOp4hour_throatPain pod1am_cough pod1am_throatPain"
        ),
        {"treat": RANDOMISED, "preOp_gender": SEX},
        note="Patients before surgery of the chest.",
    ),
    Source(
        "mgus2",
        "survival/mgus2",
        names("age sex dxyr hgb creat mspike futime death"),
        {"sex": SEX},
        note="Patients with a monoclonal gammopathy.",
    ),
    Source(
        "mice-weights",
        "dslabs/mice_weights",
        names("body_weight bone_density percent_fat sex diet gen litter"),
        {
            "sex": SEX,
            "diet": "assigned by the experimenters",
            "gen": "the generation of the breeding, before each mouse was born",
        },
    ),
    Source(
        "nass-cds",
        "DAAG/nassCDS",
        names("dvcat dead airbag seatbelt frontal sex ageOFocc yearacc yearVeh occRole deploy injSeverity"),
        {"sex": SEX, "ageOFocc": AGE, "yearacc": "the calendar year"},
        orders={"dvcat": ("1-9km/h", "10-24", "25-39", "40-54", "55+")},
        note="People in the front seats in crashes, severe ones sampled more often; weights are left out.",
    ),
    Source(
        "ncbirths",
        "openintro/ncbirths",
        names("mage weeks visits marital gained weight gender habit whitemom"),
        {"gender": "the sex of a child is fixed at conception", "whitemom": RACE},
        note="Births. The mother's age at birth is not exogenous: when to have a child may be an effect.",
    ),
    Source(
        "pbc",
        "survival/pbc",
        names(
            "time status trt age sex ascites hepato spiders edema bili albumin copper alk.phos ast platelet"
        )
        + names("protime stage"),
        {"trt": RANDOMISED, "sex": SEX},
        kinds={"status": "nominal"},
        note="Patients with a disease of the liver.",
    ),
    Source(
        "penguins",
        "palmerpenguins/penguins",
        names("species island bill_length_mm bill_depth_mm flipper_length_mm body_mass_g sex year"),
        {"species": "the species is inherited", "sex": SEX, "year": "the calendar year of the expedition"},
    ),
    Source(
        "pharmaco-smoking",
        "asaur/pharmacoSmoking",
        names("ttr grp age gender race employment yearsSmoking levelSmoking priorAttempts longestNoSmoke"),
        {"grp": RANDOMISED, "age": AGE, "gender": SEX, "race": RACE},
        note="Smokers who want to stop.",
    ),
    Source(
        "pines",
        "Stat2Data/Pines",
        names(
            "Hgt90 Hgt96 Diam96 Grow96 Hgt97 Diam97 Spread.97 Needles97 Deer95 Deer97 Cover95 Fert Spacing"
        ),
        {"Fert": "decided by the experimenters", "Spacing": "decided by the experimenters at planting"},
        note="Trees that lived until 1997.",
    ),
    Source(
        "resume-names",
        "AER/ResumeNames",
        names(
            "gender ethnicity quality call city jobs experience honors volunteer military holes school "
            "email computer special college equal wanted requirements industry"
        ),
        {"ethnicity": "the name on each application was drawn at random"},
        note="Applications sent by the experimenters. Gender is not exogenous: it follows the job.",
    ),
    Source(
        "social-insure",
        "causaldata/social_insure",
        names(
            "takeup_survey age agpop ricearea_2010 disaster_prob male default intensive risk_averse literacy"
        )
        + names("pre_takeup_rate"),
        {"intensive": RANDOMISED, "default": RANDOMISED, "age": AGE, "male": SEX},
        note="Heads of households; each household is asked once.",
    ),
    Source(
        "sports-cards",
        "AER/SportsCards",
        names("good dealer permonth years income gender education age trade"),
        {"good": RANDOMISED, "gender": SEX, "age": AGE},
        orders={
            "income": (
                "[0, 10)",
                "[10, 20)",
                "[20, 30)",
                "[30, 40)",
                "[40, 50)",
                "[50, 75)",
                "[75, 100)",
                "[100, Inf)",
            ),
            "education": (
                "8th grade",
                "high school",
                "2y college",
                "post-high school",
                "4y college",
                "graduate school",
            ),
        },
        note="Visitors of a trading-card show.",
    ),
    Source(
        "star",
        "Ecdat/Star",
        names("tmathssk treadssk classk totexpk sex freelunk race"),
        {"classk": RANDOMISED, "sex": SEX, "race": RACE},
        note="Kindergarten children with both scores; classes were drawn within schools.",
    ),
    Source(
        "tal-or",
        "psych/Tal_Or",
        names("cond pmi import reaction gender age"),
        {"cond": RANDOMISED, "gender": SEX, "age": AGE},
        note="Students.",
    ),
    Source(
        "thornton-hiv",
        "causaldata/thornton_hiv",
        names("got distvct tinc age hiv2004"),
        {"tinc": RANDOMISED, "age": AGE},
        rows="hiv2004 >= 0",
        note="People who took a test.",
    ),
    Source(
        "transplant",
        "survival/transplant",
        names("age sex abo year futime event"),
        {"sex": SEX, "abo": "the blood group is inherited"},
        note="Patients on a waiting list.",
    ),
    Source(
        "uis",
        "quantreg/uis",
        names("AGE BECK HC IV NDT RACE TREAT SITE LEN.T TIME CENSOR"),
        {"RACE": RACE, "TREAT": RANDOMISED},
        kinds={"HC": "nominal"},
        note="Drug users in treatment.",
    ),
    Source(
        "un",
        "carData/UN",
        names("region fertility ppgdp lifeExpF pctUrban infantMortality"),
        {"region": "where a country lies"},
    ),
)
