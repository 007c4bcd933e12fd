"""Fronts of the same search on resamples of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study

from optuna_mofs._optuna import read_study_attr, write_study_attr
from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs._validation import check_float, check_int
from optuna_mofs.features._codec import pack_array, unpack_array
from optuna_mofs.features._stability import (
    InterchangeableFeatures,
    StabilityIndex,
    interchangeable_features,
    nogueira_stability,
)

if TYPE_CHECKING:
    import pandas as pd

_KEY = "resamples"


@dataclass(frozen=True, eq=False, repr=False)
class ResampledFronts:
    """Result of :func:`optuna_mofs.resampled_fronts`.

    Attributes:
        resample: Number of the resample of each member of a front.
        numbers: Number of the trial in the study of its resample.
        values: Values of each member, one column per metric, as its search saw them.
        test: Values of the first metric on the rows that are not in the resample; NaN if unknown.
        masks: Mask of each member over all features.
        is_pick: Whether the member is the default pick of its front.
        metric_names: Names of the metrics.
        sign: -1 if the first metric is maximized, else 1.
        feature_names: Names of all features.
        similarity: Squared correlation of pairs of features, of those that are correlated.
        method: ``"subsample"`` or ``"bootstrap"``.
        n_rows: Number of different rows of a resample, and of all.
        n_trials: Number of trials of each search.
    """

    resample: Indices
    numbers: Indices
    values: Floats
    test: Floats
    masks: Array
    is_pick: Array
    metric_names: tuple[str, ...]
    sign: float
    feature_names: tuple[str, ...]
    similarity: Mapping[tuple[int, int], float] = field(default_factory=dict)
    method: str = "subsample"
    n_rows: tuple[int, int] = (0, 0)
    n_trials: int = 0

    # ---- members ------------------------------------------------------------------------------

    @property
    def n_resamples(self) -> int:
        """Number of resamples."""
        return len(np.unique(self.resample))

    @cached_property
    def sizes(self) -> Indices:
        """Number of features of each member."""
        return np.asarray(self.masks.sum(axis=1), dtype=np.intp)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per member of a front.

        The columns are ``resample``, ``number``, ``pick``, the metrics, the first one on the other
        rows (``<metric>_test``), ``n_features`` and ``features``.
        """
        import pandas as pd

        names = np.array(self.feature_names, dtype=object)
        return pd.DataFrame(
            {
                "resample": self.resample,
                "number": self.numbers,
                "pick": self.is_pick,
                **dict(zip(self.metric_names, self.values.T)),
                f"{self.metric_names[0]}_test": self.test,
                "n_features": self.sizes,
                "features": [tuple(names[mask]) for mask in self.masks],
            }
        )

    def members(self, n_features: int | None = None) -> Indices:
        """Return one member per resample: its default pick, or its best within a size limit.

        A resample without a set that small has none.

        Args:
            n_features: Maximum number of features; None for the default pick.
        """
        if n_features is None:
            return np.flatnonzero(self.is_pick)
        limit = check_int("n_features", n_features, 0)
        losses = np.where(self.sizes <= limit, self.sign * self.values[:, 0], np.nan)
        found = []
        for number in np.unique(self.resample):
            rows = np.flatnonzero((self.resample == number) & ~np.isnan(losses))
            if len(rows):
                found.append(int(rows[np.argmin(losses[rows])]))
        return np.array(found, dtype=np.intp)

    # ---- summaries ----------------------------------------------------------------------------

    def band(self, confidence: float = 0.8) -> pd.DataFrame:
        """Return the band of the fronts: the best value by maximum number of features.

        One row per number of features, with ``median``, ``low`` and ``high`` over the resamples,
        ``test_median``, ``test_low`` and ``test_high`` of the same members on the rows that are
        not in their resample, and the number of resamples that have a set that small.

        Args:
            confidence: Share of the resamples between ``low`` and ``high``.
        """
        import pandas as pd

        outside = (1 - check_float("confidence", confidence, 0.0, 1.0)) / 2
        names, levels = ("median", "low", "high"), (0.5, outside, 1 - outside)
        rows = []
        for size in np.unique(self.sizes).tolist():
            members = self.members(size)
            row: dict[str, Any] = {"n_features": size}
            for prefix, values in (("", self.values[:, 0]), ("test_", self.test)):
                known = values[members]
                known = known[np.isfinite(known)]
                found = np.quantile(known, levels) if len(known) else [np.nan] * 3
                row |= {prefix + name: value for name, value in zip(names, found)}
            rows.append({**row, "resamples": len(members)})
        return pd.DataFrame(rows).set_index("n_features")

    def selection_frequency(self, n_features: int | None = None) -> pd.Series:
        """Return how often each feature is selected, the most frequent first.

        Args:
            n_features: As for :meth:`members`.
        """
        import pandas as pd

        members = self.members(n_features)
        share = self.masks[members].mean(axis=0) if len(members) else np.zeros(len(self.masks.T))
        series = pd.Series(share, index=pd.Index(self.feature_names, name="feature"))
        return series.sort_values(ascending=False, kind="stable")

    def frequencies(self, sizes: Sequence[int] | None = None) -> pd.DataFrame:
        """Return how often each feature is selected by number of features.

        One row per feature that is ever selected, the most frequent first; one column per number
        of features.

        Args:
            sizes: Numbers of features. Default: all that occur.
        """
        import pandas as pd

        wanted = np.unique(self.sizes).tolist() if sizes is None else list(sizes)
        table = pd.DataFrame(
            {size: self.selection_frequency(size).sort_index() for size in wanted}
        )
        table = table[table.gt(0).any(axis=1)]
        order = (-table.mean(axis=1)).sort_values(kind="stable").index
        return table.loc[order].rename_axis(columns="n_features")

    def stability(
        self, n_features: int | None = None, *, confidence: float = 0.95
    ) -> StabilityIndex:
        """Return the stability of the selected sets (Nogueira, Sechidis, Brown, 2018, JMLR 18).

        Args:
            n_features: As for :meth:`members`.
            confidence: Confidence of the interval.
        """
        return nogueira_stability(self.masks[self.members(n_features)], confidence=confidence)

    def groups(
        self,
        n_features: int | None = None,
        *,
        min_similarity: float = 0.5,
        min_frequency: float = 0.1,
    ) -> list[InterchangeableFeatures]:
        """Return groups of similar features of which a set contains one rather than several.

        Each feature of a group can be unstable while the group is not.

        Args:
            n_features: As for :meth:`members`.
            min_similarity: Smallest squared correlation of two features of a group.
            min_frequency: Minimum share of the sets that contain a feature of a group.
        """
        return interchangeable_features(
            self.masks[self.members(n_features)],
            self.similarity,
            min_similarity=min_similarity,
            min_frequency=min_frequency,
        )

    def names_of(self, group: InterchangeableFeatures) -> list[str]:
        """Return the names of the features of a group."""
        return [self.feature_names[j] for j in group.features]

    def __repr__(self) -> str:
        frequent = self.selection_frequency()
        stable = ", ".join(f"{name} {share:.0%}" for name, share in frequent.head(5).items())
        return (
            f"ResampledFronts({self.n_resamples} {self.method}s of {self.n_rows[0]} of "
            f"{self.n_rows[1]} rows, {self.n_trials} trials each: stability of the pick "
            f"{self.stability()}; {stable})"
        )

    # ---- in a study ---------------------------------------------------------------------------

    def write(self, study: Study) -> None:
        """Store the result in a study, where figures and the report find it."""
        write_study_attr(study, _KEY, self.to_json())

    @classmethod
    def read(cls, study: Study) -> ResampledFronts | None:
        """Return the result that is stored in a study, or None."""
        found = read_study_attr(study, _KEY)
        return None if found is None else cls.from_json(found)

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "resample": self.resample.tolist(),
            "numbers": self.numbers.tolist(),
            "values": self.values.tolist(),
            "test": [None if np.isnan(value) else value for value in self.test.tolist()],
            "masks": pack_array(np.packbits(self.masks, axis=1)),
            "picks": np.flatnonzero(self.is_pick).tolist(),
            "metrics": list(self.metric_names),
            "sign": self.sign,
            "features": list(self.feature_names),
            "similarity": [[i, j, round(s, 4)] for (i, j), s in self.similarity.items()],
            "method": self.method,
            "n_rows": list(self.n_rows),
            "n_trials": self.n_trials,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ResampledFronts:
        """Return the result of JSON values: the inverse of :meth:`to_json`."""
        n_members, p = len(data["resample"]), len(data["features"])
        packed = unpack_array(data["masks"], np.uint8, n_members * -(-p // 8))
        is_pick = np.zeros(n_members, dtype=bool)
        is_pick[data["picks"]] = True
        return cls(
            resample=np.array(data["resample"], dtype=np.intp),
            numbers=np.array(data["numbers"], dtype=np.intp),
            values=np.array(data["values"], dtype=float),
            test=np.array(data["test"], dtype=float),
            masks=np.unpackbits(packed.reshape(n_members, -1), axis=1, count=p).view(bool),
            is_pick=is_pick,
            metric_names=tuple(data["metrics"]),
            sign=data["sign"],
            feature_names=tuple(data["features"]),
            similarity={(i, j): s for i, j, s in data["similarity"]},
            method=data["method"],
            n_rows=tuple(data["n_rows"]),
            n_trials=data["n_trials"],
        )
