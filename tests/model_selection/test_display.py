"""The front of a search in notebooks."""

from __future__ import annotations

import optuna
from optuna.trial import create_trial
from sklearn import config_context

from optuna_mofs import pareto_front
from optuna_mofs.model_selection._display import front_html
from tests.model_selection.searches import quick_search


def test_the_front_is_below_the_diagram(fitted):
    bundle = fitted._repr_mimebundle_()
    assert fitted._repr_html_().endswith("</table></details>")
    assert bundle["text/html"].endswith("</table></details>")
    summary = bundle["text/html"].rpartition("<summary>")[2]
    assert (
        f"chosen: trial {fitted.best_trial_.number} with {fitted.n_features_} features" in summary
    )
    assert f"expect {fitted.honest_score_}" in summary
    assert summary.count("<tr") == 1 + len(fitted.front_)
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()


def test_before_fit_there_is_no_front():
    assert "on the front" not in quick_search()._repr_html_()


def test_the_chosen_row_is_marked(fitted):
    html = front_html(fitted.front_, fitted.best_trial_.number, "a < b")
    assert "a &lt; b" in html
    assert html.count("font-weight:bold") == 1
    assert f'bold"><td>{fitted.best_trial_.number}</td>' in html


def test_long_fronts_are_cut_but_show_the_chosen_trial():
    study = optuna.create_study(directions=["minimize", "minimize"])
    for i in range(40):
        study.add_trial(create_trial(values=[i / 40, 40 - i]))
    html = front_html(pareto_front(study), 20, "")
    assert html.count("<tr") == 1 + 13 + 2  # header, rows, two gaps
    assert "<td>20</td>" in html
