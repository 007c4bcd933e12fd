"""The Python code of every documentation page runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_wine

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, spaces

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts and BLOCK.search(page.read_text(encoding="utf-8"))
]


def initial_names() -> dict[str, Any]:
    """Return the names that pages assume: data, an estimator with its space, a short study."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    estimator, space = spaces.get_learner("svm", random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space, cv=3)
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=8)
    return {
        "__name__": "__main__",
        "X": X,
        "y": y,
        "estimator": estimator,
        "space": space,
        "objective": objective,
        "study": study,
    }


@pytest.mark.unseeded
@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path) -> None:
    if "optuna_mofs.dashboard" in page.read_text(encoding="utf-8"):
        pytest.importorskip("optuna_dashboard")
    scope = initial_names()
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), scope)
