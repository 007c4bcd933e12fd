"""The variants of Binder et al. (2020): Table 5, and the names of section 5.3."""

from __future__ import annotations

from typing import Any

from optuna_mofs.features._mask_sampling import (
    MaskStart,
    bernoulli_start,
    ensemble_start,
    geometric_start,
    uniform_start,
)
from optuna_mofs.samplers.nsga2.parents import tournament_parents
from optuna_mofs.samplers.nsga2.start import Start
from optuna_mofs.samplers.nsga2.variation import PaperVariation
from optuna_mofs.samplers.operators.mask_change import (
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
    MaskMutation,
)

#: Start of masks and mutation of masks of each variant. Flipping a bit with probability 0.1 is
#: erasing it with 0.2 and drawing it anew (section 4.3.3), so that 3 and 4 erase as much.
_TABLE_5: dict[int, tuple[MaskStart, MaskMutation]] = {
    1: (bernoulli_start, BitFlip()),
    2: (uniform_start, BitFlip()),
    3: (geometric_start, BitFlip()),
    4: (geometric_start, HammingPreserving()),
    5: (ensemble_start, HammingPreserving()),
    6: (ensemble_start, FilterEnsembleMutation()),
}

_NAMES = {"GA-MO": 5, "GA-MO-FE": 6}


def paper_settings(variant: int | str) -> dict[str, Any]:
    """Settings of the sampler that make it the paper's algorithm.

    Args:
        variant: 1 to 6 (Table 5), ``"GA-MO"`` (5) or ``"GA-MO-FE"`` (6).

    Example:
        >>> paper_settings("GA-MO-FE")["population_size"]
        80
    """
    number = _NAMES.get(variant, variant) if isinstance(variant, str) else variant
    if number not in _TABLE_5:
        raise ValueError(
            f"variant must be one of {[*_TABLE_5, *_NAMES]} or None, but is {variant!r}."
        )
    start, mutation = _TABLE_5[int(number)]
    return {
        "population_size": 80,
        "offspring_size": 15,
        "start_size": 80,
        "start": Start(masks=(start,)),
        "parents": tournament_parents,
        "variation": PaperVariation(mask_mutation=mutation),
        "unique": False,
        "repeat_masks": True,
    }
