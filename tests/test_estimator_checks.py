"""scikit-learn's own checks: of the estimator as it is, and of one whose samples are nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

from maskgae import MaskGAE

TINY: dict[str, Any] = {"dim": 4, "epochs": 1, "holdout": False, "random_state": 0}

#: The checks fit tables of samples, which are no edges: those are pairs of whole numbers or names.
NO_EDGES = "rows of X are edges, not samples: two whole numbers or names each"
OTHER_WORDS = "refused too, in words about edges instead of scikit-learn's about samples"
NEED_SAMPLES = (
    "check_dict_unchanged",
    "check_dont_overwrite_parameters",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_f_contiguous_array_estimator",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_pipeline_consistency",
    "check_readonly_memmap_input",
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_preserve_dtypes",
)
REFUSED = (
    "check_complex_data",
    "check_estimators_empty_data_messages",
    "check_estimators_nan_inf",
    "check_fit2d_1feature",
    "check_fit2d_1sample",
    "check_positive_only_tag_during_fit",
)
EXPECTED = dict.fromkeys(NEED_SAMPLES, NO_EDGES) | dict.fromkeys(REFUSED, OTHER_WORDS)


@parametrize_with_checks([MaskGAE(**TINY)], expected_failed_checks=lambda _: EXPECTED)
def test_as_it_is(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


class OfSamples(MaskGAE):
    """Samples as the nodes of a ring, so that the checks get past what is no edge."""

    def fit(self, X: Any, y: Any = None) -> OfSamples:  # type: ignore[override]
        super().fit(ring(rows := validate_data(self, X, ensure_min_samples=3)), features=rows)
        return self

    def transform(self, X: Any) -> Any:  # type: ignore[override]
        self._run()
        return super().transform(ring(rows := validate_data(self, X, reset=False)), features=rows)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # type: ignore[override]
        return self.fit(X, y).transform(X)

    def score(self, X: Any, y: Any = None) -> float:
        return float(self.transform(X).mean())  # any number: a ring has too few edges to hold out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = tags.input_tags.string = False
        return tags


def ring(rows: Any) -> Any:
    numbers = np.arange(len(rows))
    return np.stack([numbers, np.roll(numbers, 1)])


NEIGHBOURS = "a node's vector depends on its neighbours"
ON_A_RING = {
    "check_methods_sample_order_invariance": NEIGHBOURS,
    "check_methods_subset_invariance": NEIGHBOURS,
}


@parametrize_with_checks([OfSamples(**TINY)], expected_failed_checks=lambda _: ON_A_RING)
def test_with_samples_for_nodes(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
