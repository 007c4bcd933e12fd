"""Samplers for feature selection and tuning, their settings, and the parts of these."""

from optuna.samplers import BaseSampler

from optuna_mofs.samplers._acquisition import (
    GaussianProcessSurrogates,
    augmented_tchebycheff,
    expected_improvement,
    log_expected_improvement,
)
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._candidates import Candidates, best_new_candidate, random_candidates
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._initial_design import RandomDesign, design_row, latin_hypercube
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
)
from optuna_mofs.samplers._set_search import FeatureSetSearch
from optuna_mofs.samplers.ghga import ForestGuide, GHGANote, GHGASampler, GHGASettings
from optuna_mofs.samplers.lexiflow import LexiFlowNote, LexiFlowSampler, LexiFlowSettings
from optuna_mofs.samplers.model_based import (
    InfillSearch,
    MaskSearch,
    ModelBasedNote,
    ModelBasedSettings,
    ParEGOSampler,
    SMSEGOSampler,
)
from optuna_mofs.samplers.moead import (
    DifferentialVariation,
    MOEADNote,
    MOEADSampler,
    MOEADSettings,
)
from optuna_mofs.samplers.nsga2 import (
    FilterEnsembleNSGA2Sampler,
    HypervolumeSelection,
    MixedVariation,
    NSGA2Note,
    NSGA2Settings,
    PaperVariation,
    TournamentSelection,
)

__all__ = [
    "AddDrop",
    "BitFlip",
    "Candidates",
    "DifferentialVariation",
    "FeatureSetSearch",
    "FilterEnsembleMutation",
    "FilterEnsembleNSGA2Sampler",
    "ForestGuide",
    "GHGANote",
    "GHGASampler",
    "GHGASettings",
    "GaussianProcessSurrogates",
    "HammingPreserving",
    "HistorySampler",
    "HypervolumeSelection",
    "InfillSearch",
    "LexiFlowNote",
    "LexiFlowSampler",
    "LexiFlowSettings",
    "MOEADNote",
    "MOEADSampler",
    "MOEADSettings",
    "MaskSearch",
    "MixedVariation",
    "ModelBasedNote",
    "ModelBasedSettings",
    "NSGA2Note",
    "NSGA2Settings",
    "PaperVariation",
    "ParEGOSampler",
    "Proposal",
    "ProposalContext",
    "RandomDesign",
    "SMSEGOSampler",
    "TournamentSelection",
    "augmented_tchebycheff",
    "best_new_candidate",
    "default_sampler",
    "design_row",
    "expected_improvement",
    "latin_hypercube",
    "log_expected_improvement",
    "random_candidates",
]


def default_sampler(seed: int | None = None) -> BaseSampler:
    """Return the sampler of searches that name none.

    Args:
        seed: Seed of the proposals; None draws one and stores it in the study.

    Example:
        >>> default_sampler(seed=0).seed
        0
    """
    return FilterEnsembleNSGA2Sampler(seed=seed)
