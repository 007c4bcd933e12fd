"""Values to compare a front with: a constant model, all features, permuted labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from optuna.study import Study

from optuna_mofs._optuna import PREFIX, read_study_attr, write_study_attr
from optuna_mofs._validation import reading

#: Each part has its own attribute, so that two processes can write different parts at once.
_KEY = "baselines."


@dataclass(frozen=True)
class NoiseFloor:
    """Best values that the same search finds on permuted labels.

    Args:
        n_trials: Number of trials of that search.
        sizes: Numbers of features, ascending.
        values: Best raw value of the first metric with at most ``sizes[i]`` features.

    Example:
        >>> NoiseFloor(20, sizes=(0, 3), values=(0.5, 0.42)).values[-1]
        0.42
    """

    n_trials: int
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.sizes) != len(self.values):
            raise ValueError(
                f"sizes and values must have the same length, got {self.sizes!r} and "
                f"{self.values!r}."
            )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NoiseFloor:
        """Return the noise floor of JSON values."""
        sizes, values = tuple(map(int, data["sizes"])), tuple(map(float, data["values"]))
        return cls(int(data["n_trials"]), sizes, values)


@dataclass(frozen=True)
class Baselines:
    """The baselines of a study; None for those that were not evaluated or failed.

    Args:
        constant: The constant model (the majority class, or the mean), one cross-validated value
            per measure.
        all_features: The estimator as given, with all features, one value per measure.
        noise_floor: The same search on permuted labels.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> Baselines.read(study)
        Baselines(constant=None, all_features=None, noise_floor=None)
        >>> write_baselines(study, constant=(0.4,))
        >>> Baselines.read(study).constant
        (0.4,)
    """

    constant: tuple[float, ...] | None = None
    all_features: tuple[float, ...] | None = None
    noise_floor: NoiseFloor | None = None

    @classmethod
    def read(cls, study: Study) -> Baselines:
        """Return the baselines in a study; all are None if it has none."""
        found: dict[str, Any] = {}
        for name in (f.name for f in fields(cls)):
            with reading(f"{PREFIX}{_KEY}{name}", f"study {study.study_name!r}"):
                data = read_study_attr(study, _KEY + name)
                if data is not None:
                    read = NoiseFloor.from_json if name == "noise_floor" else _floats
                    found[name] = read(data)
        return cls(**found)


def _floats(data: Any) -> tuple[float, ...]:
    return tuple(map(float, data))


def write_baselines(study: Study, **parts: Any) -> None:
    """Store some of the baselines of a study, and leave the others as they are.

    Args:
        study: The study.
        parts: Fields of :class:`Baselines` by name; None removes one.
    """
    known = [field.name for field in fields(Baselines)]
    for name, part in parts.items():
        if name not in known:
            raise ValueError(f"The baselines of a study are {known}, got {name!r}.")
        value = asdict(part) if isinstance(part, NoiseFloor) else part
        write_study_attr(study, _KEY + name, value)
