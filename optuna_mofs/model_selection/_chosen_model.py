"""The model that a search chose: predictions, the selected columns, tags, display."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sklearn import get_config
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from optuna_mofs._estimators import accepts_outputs
from optuna_mofs._tables import to_pandas
from optuna_mofs._typing import Array
from optuna_mofs.columns import validate_table
from optuna_mofs.model_selection._choice import check_refit
from optuna_mofs.model_selection._display import front_html


def _final_has(name: str) -> Callable[[ChosenModel], bool]:
    """Return a check that the chosen model, or before ``fit`` the estimator, has an attribute."""

    def check(search: ChosenModel) -> bool:
        model = getattr(search, "best_estimator_", None)
        if model is None and (search.refit is False or hasattr(search, "study_")):
            raise AttributeError(
                f"{name} needs a fitted model, but refit is False. Call select(refit=True)."
            )
        getattr(search.estimator if model is None else model, name)
        return True

    return check


def accepts_missing(estimator: Any) -> bool:
    """Return whether an estimator may accept missing values; its first step decides it."""
    while isinstance(estimator, Pipeline) and estimator.steps:
        estimator = estimator.steps[0][1]
    if not hasattr(estimator, "fit") or isinstance(estimator, ColumnTransformer):
        return True  # the parts decide
    return bool(get_tags(estimator).input_tags.allow_nan)


class ChosenModel(SelectorMixin, BaseSearchCV):  # type: ignore[misc]
    """The part of :class:`FeatureSelectionSearchCV` that uses the chosen model."""

    def _check_refit(self) -> None:
        """Raise if ``refit`` is none of its values; called before the search."""
        check_refit(self.refit, self.objective_.metric_names, self._scored)

    def _check_rows(self, X: Any) -> None:
        """Raise if the columns are not those of ``fit``, or if numbers are missing."""
        check_is_fitted(self, "study_")
        checked = validate_table(self, X, reset=False)
        if not hasattr(X, "columns") and not accepts_missing(self.estimator):
            # The model would not see those in columns that it does not use.
            assert_all_finite(checked, estimator_name=type(self).__name__)

    def _predicted(self, method: str, X: Any) -> Any:
        self._check_rows(X)
        return getattr(self.best_estimator_, method)(X)

    @available_if(_final_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: Any) -> Any:
        """Return the predictions of the chosen model."""
        return self._predicted("predict", X)

    @available_if(_final_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities of the chosen model."""
        return self._predicted("predict_proba", X)

    @available_if(_final_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the class probabilities of the chosen model."""
        return self._predicted("predict_log_proba", X)

    @available_if(_final_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Any:
        """Return the decision values of the chosen model."""
        return self._predicted("decision_function", X)

    @available_if(_final_has("score_samples"))  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Any:
        """Return the scores of rows by the chosen model."""
        return self._predicted("score_samples", X)

    @available_if(_final_has("predict"))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any = None, **params: Any) -> float:
        """Return the score of the chosen model: that of ``refit`` if there are several scorers.

        Args:
            X: New rows.
            y: Their target.
            **params: Metadata that the scorer requests, if metadata routing is enabled.
        """
        self._check_rows(X)
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"score accepts {sorted(params)} only if metadata routing is enabled: "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        options = process_routing(self, "score", **params).scorer.score if params else {}
        scorer = self.scorer_
        if isinstance(scorer, Mapping):
            scorer = scorer[self._scorer_name]
        found = scorer(self.best_estimator_, X, y, **options)
        return float(found[self._scorer_name] if isinstance(found, Mapping) else found)

    @property
    def classes_(self) -> Array:
        """Classes of a classifier."""
        _final_has("classes_")(self)
        found: Array = self.best_estimator_.classes_
        return found

    @property
    def n_features_in_(self) -> int:
        """Number of columns in ``fit``."""
        if "_n_features_in" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no n_features_in_ before fit.")
        return int(self._n_features_in)

    @n_features_in_.setter
    def n_features_in_(self, value: int) -> None:
        self._n_features_in = value

    def transform(self, X: Any) -> Any:
        """Return the selected columns of a table.

        Args:
            X: All columns that ``fit`` had.
        """
        return super().transform(to_pandas(X))

    def _get_support_mask(self) -> Array:
        check_is_fitted(self, "support_")
        mask: Array = self.support_
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.allow_nan = accepts_missing(self.estimator)
        tags.input_tags.categorical = inner.input_tags.categorical
        tags.input_tags.string = inner.input_tags.string
        tags.input_tags.pairwise = False  # columns are selected
        tags.target_tags = inner.target_tags
        tags.target_tags.multi_output = accepts_outputs(self.estimator)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_label = accepts_outputs(self.estimator, labels=True)
        return tags

    # ---- metadata and display ------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata go to the estimator, the scorer and the splitter."""
        to_score = MethodMapping().add(caller="score", callee="score")
        router = MetadataRouter(owner=self)
        router.add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )
        router.add(
            scorer=check_scoring(self.estimator, self.scoring),
            method_mapping=to_score.add(caller="fit", callee="score"),
        )
        router.add(
            splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
        )
        return router

    def _front_html(self) -> str:
        if "front_" not in self.__dict__:
            return ""
        summary = (
            f"{len(self.front_)} of {len(self.trials_)} trials are on the front; chosen: trial "
            f"{self.best_trial_.number} with {self.n_features_} features, score "
            f"{self.best_score_:.3g}, on new rows expect {self.honest_score_}"
        )
        return front_html(self.front_, self.best_trial_.number, summary)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        inner = super()._repr_html_
        return lambda: inner() + self._front_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._front_html()
        return bundle
