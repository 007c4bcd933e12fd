from __future__ import annotations

from typing import Any

import pytest

from optuna_mofs.features._mask_sampling import (
    bernoulli_start,
    ensemble_start,
    geometric_start,
    uniform_start,
)
from optuna_mofs.samplers.nsga2.parents import tournament_parents
from optuna_mofs.samplers.nsga2.variants import paper_settings
from optuna_mofs.samplers.nsga2.variation import PaperVariation
from optuna_mofs.samplers.operators.mask_change import (
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
)


@pytest.mark.parametrize(
    ("variant", "start", "mutation"),
    [
        # Binder et al. (2020), Table 5: initialisation and mutation of the mask.
        (1, bernoulli_start, BitFlip(0.1)),
        (2, uniform_start, BitFlip(0.1)),
        (3, geometric_start, BitFlip(0.1)),
        (4, geometric_start, HammingPreserving(0.2)),
        (5, ensemble_start, HammingPreserving(0.2)),
        (6, ensemble_start, FilterEnsembleMutation(0.1)),
        ("GA-MO", ensemble_start, HammingPreserving(0.2)),
        ("GA-MO-FE", ensemble_start, FilterEnsembleMutation(0.1)),
    ],
)
def test_table_5(variant: int | str, start: Any, mutation: Any) -> None:
    found = paper_settings(variant)
    assert found["start"].masks == (start,)
    assert found["variation"] == PaperVariation(mask_mutation=mutation)


@pytest.mark.parametrize("variant", [1, 4, 6, "GA-MO"])
def test_table_1(variant: int | str) -> None:
    found = paper_settings(variant)
    assert (found["population_size"], found["offspring_size"]) == (80, 15)
    assert found["start_size"] == 80
    assert found["parents"] is tournament_parents
    variation = found["variation"]
    assert (variation.crossover_prob, variation.mutation_prob) == (0.7, 0.3)
    assert (variation.eta, variation.swap, variation.per_parameter) == (5.0, 0.5, 0.1)


@pytest.mark.parametrize("variant", [0, 7, "GA", "6", "ga-mo", 2.5])
def test_unknown_variants(variant: Any) -> None:
    with pytest.raises(ValueError, match=r"variant must be one of .*GA-MO-FE.* but is"):
        paper_settings(variant)
