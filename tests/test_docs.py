"""Every block of Python in the documentation runs as it stands, page by page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import optuna
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


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, and budgets cut down; everything else is as written."""
    optimize = optuna.Study.optimize

    def shorter(self: optuna.Study, func: Any, n_trials: int, **options: Any) -> None:
        optimize(self, func, n_trials=min(n_trials, 8), **options)

    monkeypatch.setattr(optuna.Study, "optimize", shorter)
    monkeypatch.chdir(tmp_path)


def granted() -> dict[str, Any]:
    """What pages take for granted: data, an estimator with its space, a study that has begun."""
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


@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_code_of_a_page(page: Path) -> None:
    if "optuna_mofs.dashboard" in page.read_text(encoding="utf-8"):
        pytest.importorskip("optuna_dashboard")
    scope = granted()
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), scope)
