"""
A search in scikit-learn
========================

This tutorial selects the features of a pipeline and tunes its hyperparameters with one call of
``fit``, and uses the result as a model, as a feature selector and as a front.
"""

# %%
# The space is written as for ``RandomizedSearchCV``: SciPy distributions or lists of values by
# parameter name. Optuna distributions and the spaces of ``optuna_mofs.spaces`` work too.

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from optuna_mofs import FeatureSelectionSearchCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

search = FeatureSelectionSearchCV(
    make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    {
        "standardscaler": [StandardScaler(), QuantileTransformer(n_quantiles=50)],
        "logisticregression__C": loguniform(1e-3, 1e3),
    },
    n_trials=60,
    random_state=0,
)
search.fit(X_train, y_train)

# %%
# The search has found a front: from few features with more errors to many with fewer. ``honest``
# is the error to expect on new rows, see :doc:`/selection_bias`.

search.pareto_front_[["n_features", "error", "honest", "honest_low", "honest_high"]]

# %%
# One trial of the front is the model: by default the one with the fewest features whose error is
# within one standard error of the lowest. Its score on new rows should lie in the interval of
# ``honest_score_``.

print("features:", search.get_feature_names_out().tolist())
print("parameters:", search.best_params_)
print("cross-validated score:", round(search.best_score_, 3))
print("expected score:", search.honest_score_)
print("score on new rows:", round(search.score(X_test, y_test), 3))

# %%
# ``select`` chooses another trial without searching again: by a rule, by a measure, by your own
# function of ``cv_results_``, or a trial itself.


def few_and_good(cv_results):
    """Choose the best score among the trials with at most three features."""
    scores = cv_results["mean_test_score"].copy()
    scores[cv_results["n_features"] > 3] = -1
    return scores.argmax()


for refit in ("best", "knee", few_and_good, search.front_.best(max_features=1)):
    search.select(refit=refit)
    print(
        search.n_features_, "features, score on new rows", round(search.score(X_test, y_test), 3)
    )

# %%
# The search is also a feature selector, which can be a step of a pipeline.

search.select(refit=True).set_output(transform="pandas")
search.transform(X_test).head()

# %%
# Behind it is an Optuna study, with all figures of this package.

from optuna_mofs.visualization import plot_front

plot_front(search.study_)
