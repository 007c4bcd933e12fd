"""A small table like a user's: texts, missing values, one name per row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd


def people(n: int = 60) -> pd.DataFrame:
    """Return a table in which one number and one text column predict the risk."""
    rng = np.random.default_rng(0)
    high = rng.random(n) < 0.5
    frame = pd.DataFrame({f"noise {j}": rng.normal(size=n) for j in range(3)})
    frame["dose"] = np.where(high, 2.0, 0.0) + rng.normal(size=n)
    frame["city"] = np.where(high & (rng.random(n) < 0.9), "Rome", "Oslo")
    frame.loc[3:5, "dose"] = np.nan
    frame.loc[7, "city"] = None
    frame["name"] = [f"p{i}" for i in range(n)]
    frame["risk"] = np.where(high, "high", "low")
    return frame


def write_people(folder: Path, name: str = "people.csv") -> Path:
    """Write the table to a file."""
    path = folder / name
    people().to_csv(path, index=False)
    return path


#: A quick search: one filter, a linear learner, few folds.
QUICK = ("--learner", "ridge", "--filters", "anova_f", "--cv", "3")
