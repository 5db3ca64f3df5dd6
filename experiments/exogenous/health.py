"""Patients and births, without random assignment.

The age of patients is not an exogenous column: it is the age at which somebody fell ill or was treated, which
may well be an effect. Neither is the age of a mother when her child is born.
"""

from __future__ import annotations

from experiments.exogenous.base import AGE, RACE, SEX, Source, names

_CHILD = "the sex of a child is fixed at conception"

HEALTH = (
    Source(
        "aids-australia",
        "MASS/Aids2",
        names("state sex diag death status T.categ age"),
        {"sex": SEX},
        note="Patients; for those alive, the date of death is the end of the study.",
    ),
    Source(
        "alzheimer",
        "modeldata/ad_data",
        names(
            "Class age male Genotype tau p_tau Ab_42 Apolipoprotein_A1 Apolipoprotein_B Apolipoprotein_E "
            "Clusterin_Apo_J C_Reactive_Protein Cortisol Cystatin_C FSH_Follicle_Stimulation_Hormon "
            "Insulin Leptin NT_proBNP Prolactin Thyroid_Stimulating_Hormone TNF_RII VEGF"
        ),
        {"male": SEX, "Genotype": "the genotype is inherited"},
        note="People with a loss of memory and without; some of the proteins that were measured.",
    ),
    Source(
        "autism",
        "HLMdiag/autism",
        names("sicdegp vsae gender race bestest2"),
        {"gender": SEX, "race": RACE},
        orders={"sicdegp": ("low", "med", "high")},
        rows="age2 == 0",
        note="Children with a diagnosis at the age of two.",
    ),
    Source(
        "births1960s",
        "mosaicData/Gestation",
        names("gestation wt parity race age ed ht wt.1 marital smoke dage"),
        {"race": RACE},
        note="Boys who were born to members of one health plan.",
    ),
    Source(
        "births1988",
        "wooldridge/bwght",
        names("faminc cigprice bwght motheduc parity male white cigs"),
        {"male": _CHILD, "white": RACE},
        note="Births.",
    ),
    Source(
        "births2001",
        "Stat2Data/NCbirths",
        names("Plural Sex MomAge Weeks Marital Gained Smoke BirthWeightOz MomRace"),
        {"Sex": _CHILD, "MomRace": RACE},
        note="Births in one state; the table ncbirths is of another year.",
    ),
    Source(
        "births2014",
        "openintro/births14",
        names("mage weeks visits gained weight sex habit marital whitemom"),
        {"sex": _CHILD, "whitemom": RACE},
        note="Births.",
    ),
    Source(
        "birthwt",
        "MASS/birthwt",
        names("age lwt race smoke ptl ht ui ftv bwt"),
        {"race": RACE},
        kinds={"race": "nominal"},
        note="Births in one hospital, those of a low weight sampled more often.",
    ),
    Source(
        "blood-storage",
        "medicaldata/blood_storage",
        names(
            "Median.RBC.Age Age AA FamHx PVol TVol T.Stage bGS BN+ OrganConfined PreopPSA "
            "Units sGS AnyAdjTherapy Recurrence TimeToRecurrence"
        ),
        {"AA": RACE},
        note="Men after surgery for cancer of the prostate with a transfusion.",
    ),
    Source(
        "bone-marrow",
        "KMsurv/bmt",
        names("group t1 d1 d2 ta da tc dc tp dp z1 z2 z3 z4 z5 z6 z7 z8 z9"),
        {"z3": SEX},
        kinds={"group": "nominal", "z9": "nominal"},
        note="Patients with a transplant. The sex of the donor, z4, is not exogenous: donors are chosen.",
    ),
    Source(
        "burns",
        "KMsurv/burn",
        names("Z1 Z2 Z3 Z4 Z5 Z6 Z7 Z8 Z9 Z10 Z11 T1 D1 T2 D2 T3 D3"),
        {"Z2": SEX, "Z3": RACE},
        kinds={"Z11": "nominal"},
        note="Patients with burns; the treatment, Z1, was not assigned at random.",
    ),
    Source(
        "coma",
        "carData/Wong",
        names("days duration sex age piq viq"),
        {"sex": SEX},
        rows="~id.duplicated()",
        note="Patients after a coma; one test of each.",
    ),
    Source(
        "hepatocellular",
        "asaur/hepatoCellular",
        names(
            "Age Gender HBsAg Cirrhosis ALT AST AFP Tumorsize Tumordifferentiation Vascularinvasion "
            "Tumormultiplicity Capsulation OS Death RFS Recurrence CXCL17T CXCL17P CXCL17N"
        ),
        {"Gender": SEX},
        note="Patients with cancer of the liver; the stages, which other columns define, are left out.",
    ),
    Source(
        "icu",
        "vcdExtra/ICU",
        names(
            "died age sex race service cancer renal infect cpr systolic hrtrate previcu admit fracture po2 "
            "ph pco bic creatin uncons"
        ),
        {"sex": SEX, "race": RACE},
        note="Patients in intensive care.",
    ),
    Source(
        "kidney-transplant",
        "KMsurv/kidtran",
        names("time delta gender race age"),
        {"gender": SEX, "race": RACE},
        note="Patients with a transplant.",
    ),
    Source(
        "lung-cancer",
        "survival/cancer",
        names("time status age sex ph.ecog ph.karno pat.karno wt.loss"),
        {"sex": SEX},
        note="Patients with advanced cancer of the lung.",
    ),
    Source(
        "medpar",
        "COUNT/medpar",
        names("los hmo white died age80 type"),
        {"white": RACE},
        note="Patients of one diagnosis who are covered by Medicare.",
    ),
    Source(
        "melanoma",
        "MASS/Melanoma",
        names("time status sex age year thickness ulcer"),
        {"sex": SEX},
        kinds={"status": "nominal"},
        note="Patients after surgery for a melanoma. The year of the operation is not exogenous.",
    ),
    Source(
        "neurocog",
        "heplots/NeuroCog",
        names("Dx Speed Attention Memory Verbal Visual ProbSolv SocialCog Age Sex"),
        {"Sex": SEX},
        note="Patients with schizophrenia and others.",
    ),
    Source(
        "nhefs",
        "causaldata/nhefs",
        names(
            "qsmk sex age race income marital school ht wt71 wt82 smokeintensity smokeyrs asthma bronch "
            "chroniccough headache active exercise alcoholfreq cholesterol sbp dbp death"
        ),
        {"sex": SEX, "age": AGE, "race": RACE},
        kinds={"marital": "nominal"},
        rows="marital < 8 and alcoholfreq < 5",
        note="Smokers of a survey, followed for eleven years.",
    ),
    Source(
        "parkinson-speech",
        "modeldata/pd_speech",
        names(
            "gender PPE DFA RPDE meanPeriodPulses stdDevPeriodPulses locPctJitter locShimmer "
            "meanHarmToNoiseHarmonicity meanIntensity f1 f2 f3 f4 class"
        ),
        {"gender": SEX},
        note="Patients with Parkinson's disease and others; means of three recordings.",
    ),
    Source(
        "pneumonia",
        "KMsurv/pneumon",
        names(
            "chldage hospital mthage urban alcohol smoke region poverty bweight race education nsibs wmonth "
            "sfmonth"
        ),
        {"race": RACE},
        kinds={"race": "nominal", "region": "nominal"},
        note="Children in their first year, with the race of the mother.",
    ),
    Source(
        "prenatal-care",
        "wooldridge/bwght2",
        names("mage meduc monpre npvis fage feduc bwght omaps fmaps cigs drink male mwhte mblck"),
        {"male": _CHILD, "mwhte": RACE, "mblck": RACE},
        note="Births. The father's race is left out: whom she marries may be an effect.",
    ),
    Source(
        "quinidine",
        "nlme/Quinidine",
        names("Age Height Weight Race Smoke Ethanol Heart Creatinine glyco"),
        {"Race": RACE},
        orders={"Heart": ("No/Mild", "Moderate", "Severe")},
        rows="~Subject.duplicated()",
        note="Patients who were given a drug for the heart; the first row of each.",
    ),
    Source(
        "soep1996",
        "COUNT/mdvis",
        names("numvisit badh age educ loginc"),
        {"age": AGE},
        rows="reform == 0",
        note="Women of 20 to 60 in work.",
    ),
    Source(
        "std",
        "KMsurv/std",
        names(
            "race marital age yschool iinfct npartner os12m os30d rs12m rs30d abdpain discharge dysuria "
            "condom itch lesion rash lymph vagina dchexam abnode rinfct time"
        ),
        {"race": RACE},
        kinds={"iinfct": "nominal"},
        note="Women with an infection.",
    ),
    Source(
        "stroke",
        "modeldata/ischemic_stroke",
        names(
            "stroke calc_vol matx_vol lrnc_vol wall_vol max_max_wall_thickness max_remodeling_ratio "
            "max_stenosis_by_diameter age male smoking_history atrial_fibrillation coronary_artery_disease "
            "diabetes_history hypercholesterolemia_history hypertension_history"
        ),
        {"male": SEX},
        note="Patients whose artery of the neck was scanned.",
    ),
)
