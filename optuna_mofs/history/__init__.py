"""The completed trials of a study as arrays, and the search space."""

from optuna_mofs.history._history import History, HistoryFollower
from optuna_mofs.history._search_space import SearchSpace

__all__ = ["History", "HistoryFollower", "SearchSpace"]
