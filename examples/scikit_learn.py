"""Select features and tune a pipeline with one call of ``fit``; compare it on new rows.

The search is an estimator of scikit-learn, so that ``cross_validate`` repeats all of it, also the
selection of the features, on each outer fold.
"""

from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RandomizedSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from optuna_mofs import FeatureSelectionSearchCV

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
estimator = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
space = {"logisticregression__C": loguniform(1e-3, 1e3)}

searches = {
    "all features": RandomizedSearchCV(estimator, space, n_iter=20, random_state=0),
    "selected features": FeatureSelectionSearchCV(estimator, space, n_trials=40, random_state=0),
}
for name, search in searches.items():
    found = cross_validate(search, X, y, cv=3, return_estimator=True)
    models = found["estimator"]
    sizes = [getattr(model, "n_features_", X.shape[1]) for model in models]
    print(f"{name}: score on new rows {found['test_score'].mean():.3f}, features {sizes}")

# What the search expected of its own models, without any new row.
for model in models:
    print(
        f"trial {model.best_trial_.number} of {len(model.trials_)}: expected {model.honest_score_}"
    )
