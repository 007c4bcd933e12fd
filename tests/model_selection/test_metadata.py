"""Weights and groups: with and without scikit-learn's metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import config_context
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.model_selection.searches import quick_search


class Recorder(GaussianNB):
    """Keeps the sums of the weights it was fitted with."""

    sums: list[float] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.sums.append(0.0 if sample_weight is None else float(np.sum(sample_weight)))
        return super().fit(X, y, sample_weight)


def plain_accuracy(estimator, X, y):
    return float(np.mean(estimator.predict(X) == y))


@pytest.fixture
def weights():
    return np.random.default_rng(0).uniform(0.5, 2.0, 178)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(autouse=True)
def _forget():
    Recorder.sums.clear()


def splits_of(search):
    return search.objective_.evaluator.splits


def test_weights_count_in_fits_and_scores(wine, weights):
    X, y = wine
    search = quick_search(estimator=Recorder()).fit(X, y, sample_weight=weights)
    assert Recorder.sums[-1] == pytest.approx(weights.sum())
    row = int(search.best_index_)
    trial = search.best_trial_
    scores = []
    for mask, (train, test) in zip(search.objective_.fold_masks_for(trial), splits_of(search)):
        columns = X.columns[mask]
        model = GaussianNB(**search.best_params_)
        model.fit(X.loc[train, columns], y[train], weights[train])
        predicted = model.predict(X.loc[test, columns])
        scores.append(accuracy_score(y[test], predicted, sample_weight=weights[test]))
    assert search.cv_results_["mean_test_score"][row] == pytest.approx(np.mean(scores))


def test_weights_of_the_last_step(wine, weights):
    pipe = Pipeline([("scale", StandardScaler()), ("model", Recorder())])
    search = quick_search(estimator=pipe, param_distributions=None)
    search.fit(*wine, model__sample_weight=weights)
    assert Recorder.sums[-1] == pytest.approx(weights.sum())


def test_scorers_without_weights_warn(wine, weights):
    search = quick_search(scoring=plain_accuracy)
    with pytest.warns(UserWarning, match="scores are not weighted"):
        search.fit(*wine, sample_weight=weights)
    assert search.objective_.data.score_weight is None
    assert search.objective_.data.sample_weight is not None


def test_other_arguments_are_refused(wine):
    with pytest.raises(TypeError, match="fit does not accept 'eval_set'"):
        quick_search().fit(*wine, eval_set=[1])


def test_none_is_no_argument(wine, fitted):
    search = quick_search(n_trials=25).fit(*wine, sample_weight=None, groups=None)
    assert search.best_trial_.values == fitted.best_trial_.values


@pytest.mark.parametrize("cv", [3, GroupKFold(3)], ids=["number", "splitter"])
@pytest.mark.parametrize("is_routed", [False, True])
def test_groups_are_kept_together(wine, cv, is_routed):
    groups = np.random.default_rng(0).integers(0, 20, 178)
    with config_context(enable_metadata_routing=is_routed):
        search = quick_search(cv=cv).fit(*wine, groups=groups)
    for train, test in splits_of(search):
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.usefixtures("routing")
def test_routed_weights_go_where_they_are_requested(wine, weights):
    estimator = (
        Recorder().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    )
    search = quick_search(estimator=estimator).fit(*wine, sample_weight=weights)
    assert Recorder.sums[-1] == pytest.approx(weights.sum())
    assert search.objective_.data.score_weight is not None
    assert search.score(*wine, sample_weight=weights) == pytest.approx(
        accuracy_score(wine[1], search.predict(wine[0]), sample_weight=weights)
    )
    only_fit = Recorder().set_fit_request(sample_weight=True)
    only_fit.set_score_request(sample_weight=False)
    search = quick_search(estimator=only_fit).fit(*wine, sample_weight=weights)
    assert search.objective_.data.score_weight is None
    assert search.objective_.data.sample_weight is not None


@pytest.mark.usefixtures("routing")
def test_routed_weights_reach_steps_of_a_pipeline(wine, weights):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, Recorder().set_fit_request(sample_weight=True))
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    search = quick_search(estimator=pipe, param_distributions=None, scoring=scorer)
    search.fit(*wine, sample_weight=weights)
    assert Recorder.sums[-1] == pytest.approx(weights.sum())
    assert min(Recorder.sums[1:]) > 0
    assert search.objective_.data.score_weight is not None


@pytest.mark.usefixtures("routing")
def test_what_nobody_requests_is_refused(wine, weights):
    with pytest.raises(ValueError, match=r"sample_weight.* not explicitly set"):
        quick_search().fit(*wine, sample_weight=weights)


@pytest.mark.usefixtures("routing")
def test_weights_can_count_in_scores_only(wine, weights):
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    never = Recorder().set_fit_request(sample_weight=False)
    search = quick_search(estimator=never, scoring=scorer).fit(*wine, sample_weight=weights)
    assert set(Recorder.sums) == {0.0}
    assert search.objective_.data.score_weight is not None


@pytest.mark.usefixtures("routing")
def test_splitters_get_what_they_request(wine):
    class BySite(StratifiedKFold):
        def split(self, X, y=None, groups=None, site=None):
            for k in range(3):
                yield np.flatnonzero(site != k), np.flatnonzero(site == k)

    site = np.arange(178) % 3
    splitter = BySite(3).set_split_request(site=True)
    search = quick_search(cv=splitter).fit(*wine, site=site)
    assert [set(site[test]) for _, test in splits_of(search)] == [{0}, {1}, {2}]
