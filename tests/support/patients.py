"""Patients of two clinics: a table in which the effect of a dose is known, and its graph."""

import numpy as np
import pandas as pd


def patients(n=600, seed=0):
    """Severity and clinic set the dose; dose and severity the response."""
    rng = np.random.default_rng(seed)
    severity, clinic = rng.standard_normal((2, n))
    dose = 0.9 * severity + 0.8 * clinic + rng.standard_normal(n)
    response = 0.7 * dose - 1.2 * severity + rng.standard_normal(n)
    return pd.DataFrame({"severity": severity, "clinic": clinic, "dose": dose, "response": response})


PATIENTS = pd.DataFrame(
    [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]],
    index=patients().columns,
    columns=patients().columns,
)
