"""From a finished trial to its parameters, features and model."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.trial import FrozenTrial
from sklearn.pipeline import Pipeline

from optuna_mofs._optuna import frozen_attr
from optuna_mofs._typing import Array
from optuna_mofs.columns import ColumnSelector
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.data._target import plain_target
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._representation import Representation
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.measures import Measure
from optuna_mofs.objectives.evaluator import Evaluator, baseline, fit_options
from optuna_mofs.objectives.learners import Learners
from optuna_mofs.selection import MASK, trial_mask


class TrialModels:
    """What an objective knows of finished trials; the base of objectives.

    Attributes:
        learners: What is fitted, random states set, and its space.
        data: X and y.
        layout: The features without ranks.
        features: How a feature set is suggested, not bound to a table.
        ranking: The features with ranks, when needed.
        measures: One a value.
        evaluator: The cross-validation.
    """

    learners: Learners
    data: Dataset
    layout: FeatureTable
    features: Representation | None
    ranking: Ranking
    measures: tuple[Measure, ...]
    evaluator: Evaluator

    @property
    def table(self) -> FeatureTable:
        """The features with their filter ranks and the size prior."""
        return self.ranking.table

    def params_for(self, trial: FrozenTrial) -> dict[str, Any]:
        """The estimator's parameters in a trial.

        Of a space given as a function, that function is asked again with the trial's values.
        """
        return self.learners.params_of(trial)

    def mask_for(self, trial: FrozenTrial) -> Array:
        """The mask over all features that a trial chose."""
        if not hasattr(trial, "params"):
            raise TypeError(
                f"A trial is needed, such as study.trials[3] or pareto_front(study).knee(), but "
                f"this is {type(trial).__name__}: {trial!r}."
            )
        if self.features is None:
            return self.layout.full_mask(np.zeros(0, dtype=bool))
        bound = self.features.bind(self.ranking.unranked)
        if frozen_attr(trial, MASK) is None and not bound.is_plain:
            # Only a trial that does not remember its mask needs the filters to find it again.
            bound = self.features.bind(self.table)
        mask = trial_mask(bound, trial)
        if mask is None:
            raise ValueError(
                f"Trial {trial.number} says nothing of its features: it has the parameters "
                f"{sorted(trial.params)}. Pass a trial of a study of this objective."
            )
        return self.layout.full_mask(mask)

    def features_for(self, trial: FrozenTrial) -> list[str]:
        """Names of the features that a trial chose."""
        return self.layout.names_of(self.mask_for(trial))

    def estimator_for(self, trial: FrozenTrial) -> Pipeline:
        """The unfitted pipeline of a trial: the chosen columns, then the configured estimator."""
        columns = self.layout.columns_of(self.mask_for(trial))
        frame = hasattr(self.data.X, "iloc")
        select = ColumnSelector(columns=columns.tolist(), by_name=frame)
        if frame:
            select.set_output(transform="pandas")
        final = (
            self.learners.configured(self.params_for(trial))
            if len(columns)
            else baseline(self.data.classification)
        )
        return Pipeline([("select", select), ("estimator", final)])

    def refit(self, trial: FrozenTrial) -> Pipeline:
        """The pipeline of a trial fitted on all data.

        It takes tables with all columns; of DataFrames with names the chosen ones are enough.
        """
        model = self.estimator_for(trial)
        weight = self.data.sample_weight
        return model.fit(
            self.data.X,
            self.data.y,
            **fit_options(model.named_steps["estimator"], weight, "estimator__"),
        )

    def test_values(
        self, model: Pipeline, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> list[float]:
        """The trial's values with those of fitted models measured on new data.

        Args:
            model: From :meth:`refit` of the trial.
            trial: The trial.
            X_test: New data, as :meth:`refit` says.
            y_test: Its target.
        """
        # The selector checks the columns of new data and finds those of the model.
        fresh = self.evaluator.on_test_data(
            model.named_steps["estimator"],
            self.layout.columns_of(self.mask_for(trial)),
            model[:-1].transform(X_test),
            plain_target(y_test, X_test.shape[0]),
        )
        return [fresh.get(m.name, v) for m, v in zip(self.measures, trial.values)]
