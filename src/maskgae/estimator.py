"""The scikit-learn face of a run: fit a graph, get embeddings, missing links and scores."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from maskgae.base.errors import InputError

if TYPE_CHECKING:
    from maskgae.run import Callback, Run

#: The setting that each plain keyword stands for.
KEYWORDS = {
    "mask": "mask.kind",
    "encoder": "encoder.kind",
    "hidden": "encoder.hidden",
    "layers": "encoder.layers",
    "dropout": "encoder.dropout",
    "epochs": "training.epochs",
    "patience": "training.patience",
    "lr": "training.lr",
    "weight_decay": "training.weight_decay",
}


# scikit-learn's wrapper would name rows after the input's, which are edges; ours names the nodes.
class MaskGAE(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """Node embeddings of an unlabelled graph by masked graph modelling.

    What is ``None`` follows from the graph, or from the preset.

    Args:
        mask: ``edge``, ``path`` or ``none``.
        mask_ratio: chance of an edge, or of a root of a path, to be hidden.
        dim: number of columns that come out.
        encoder: ``gcn``, ``sage`` or ``gat``.
        hidden: width of every layer but the last.
        layers: number of layers.
        dropout: before every layer.
        epochs: at most this many.
        patience: epochs without a better validation before it stops.
        lr: learning rate.
        weight_decay: of Adam.
        holdout: whether to hold out edges for stopping and for the test of ``metrics_``, or the
            share to test on.
        preset: named settings to start from.
        settings: further ones by dotted key, such as ``{"decoder.hidden": 64}``.
        device: where to compute.
        random_state: a seed, a ``RandomState``, or ``None`` for another one each time.
        callbacks: told of every epoch, see :class:`~maskgae.run.callbacks.Callback`.
        verbose: whether to log the training.

    Attributes:
        embedding_: ``[N, D]``, the embeddings of the fitted graph's nodes.
        node_names_: what they are called, ``[N]``.
        metrics_: what was measured on held-out edges and, with labels, by a probe.
        history_: a row for each epoch.
        run_: everything else, see :class:`~maskgae.run.run.Run`.
        n_features_in_: columns of the graph's features.

    >>> import networkx
    >>> graph = networkx.les_miserables_graph()
    >>> model = MaskGAE(dim=16, epochs=20, random_state=0).fit(graph)
    >>> model.embedding_.shape
    (77, 16)
    >>> list(model.predict_links(top=1, nodes=["Cosette"]))
    ['source', 'target', 'score']
    """

    def __init__(
        self,
        mask: str | None = None,
        *,
        mask_ratio: float | None = None,
        dim: int | None = None,
        encoder: str | None = None,
        hidden: int | None = None,
        layers: int | None = None,
        dropout: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        lr: float | None = None,
        weight_decay: float | None = None,
        holdout: bool | float = True,
        preset: str | None = None,
        settings: Mapping[str, Any] | None = None,
        device: str = "cpu",
        random_state: Any = None,
        callbacks: Sequence[Callback] = (),
        verbose: bool = False,
    ) -> None:
        self.mask = mask
        self.mask_ratio = mask_ratio
        self.dim = dim
        self.encoder = encoder
        self.hidden = hidden
        self.layers = layers
        self.dropout = dropout
        self.epochs = epochs
        self.patience = patience
        self.lr = lr
        self.weight_decay = weight_decay
        self.holdout = holdout
        self.preset = preset
        self.settings = settings
        self.device = device
        self.random_state = random_state
        self.callbacks = callbacks
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, *, features: Any = None, **reading: Any) -> MaskGAE:
        """Trains on a graph.

        Args:
            X: a graph: ours, PyG ``Data``, a SciPy sparse matrix, a NetworkX graph, a pandas frame
                of edges, an array or list of edges (pairs of numbers or of names); or a file of
                edges, or the folder of a store.
            y: a class for each node, numbers or words, used for evaluation only.
            features: a row for each node, in the order of its numbers or names; the rows of a
                pandas frame go by its index where that has the names.
            reading: of a file, what :func:`maskgae.read` takes, such as ``nodes`` and ``label``.
        """
        from maskgae.run import fit, read
        from maskgae.run.callbacks import Callbacks, Log

        source = read(X, features=features, labels=y, **reading)
        found = fit(
            source,
            self._overrides(),
            preset=self.preset,
            dim=self.dim,
            holdout=self.holdout,
            device=self.device,
            callbacks=Callbacks(self.callbacks).each + ((Log(),) if self.verbose else ()),
        )
        columns = 0 if source.graph.features is None else source.graph.features.num_columns
        return self._keep(found, columns)

    def _overrides(self) -> dict[str, Any]:
        """Dotted keys from the keywords; what is named wins over ``settings``."""
        from maskgae.presets import preset
        from maskgae.run.defaults import as_overrides

        named = {key: getattr(self, word) for word, key in KEYWORDS.items()}
        values = as_overrides(self.settings) | {"seed": _seed(self.random_state)}
        values |= {key: value for key, value in named.items() if value is not None}
        if self.mask_ratio is not None:
            base = preset(self.preset).overrides if self.preset else {}
            kind = values.get("mask.kind", base.get("mask.kind"))
            values["mask.q" if kind == "path" else "mask.p"] = self.mask_ratio
        return values

    def transform(self, X: Any = None, *, features: Any = None, **reading: Any) -> Any:
        """Embeddings of the fitted graph, or of another with the same kind of features, ``[N, D]``.

        A network with learnable node embeddings knows only the nodes it was fitted on. Where
        features came from structure, the fitted nodes must be among the other graph's, by their
        names.
        """
        run = self._run()
        if X is None and (features is not None or reading):
            raise InputError("features and files of nodes go with another graph: give it as X")
        found = run.embed() if X is None else run.embed(X, features=features, **reading)
        return self._output(found.values, found.ids)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Trains on a graph and returns its embeddings."""
        return self.fit(X, y, **fit_params).transform()

    def predict_links(self, top: int = 10, nodes: Any = None) -> Any:
        """The highest-scored missing links of each node, best first.

        Args:
            top: links per node, at most.
            nodes: names of the nodes to ask about, or one; all of them where it is ``None``.

        Returns:
            Columns ``source``, ``target`` and ``score``, as a pandas frame where pandas is
            installed; the score is a probability, calibrated for as many edges as negative samples.
        """
        columns = self._run().links(top, nodes)
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def score_pairs(self, pairs: Any) -> NDArray[np.float32]:
        """Probabilities of given pairs of names, ``[P, 2] -> [P]``."""
        return self._run().score(pairs)

    def score(self, X: Any = None, y: Any = None) -> float:
        """The best validation AUC: what a grid search may choose by, and no figure of the test.

        Args:
            X: the fitted graph; other edges are refused, since the rows of one graph cannot be
                cut apart. Search with ``cv=HeldOutLinks()``.
            y: not used.
        """
        run = self._run()
        if X is not None:
            self._check_same(run, X)
        values = [row["val_auc"] for row in run.history if row.get("val_auc") is not None]
        if not values:
            raise InputError("nothing was held out to choose by: fit with holdout=True")
        return float(max(values))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """What the columns of the embedding are called."""
        width = self._run().embedding.shape[1]
        return np.array([f"maskgae{i}" for i in range(width)], dtype=object)

    def set_output(self, *, transform: str | None = None) -> MaskGAE:
        """Whether :meth:`transform` gives an array (``default``) or a frame with the names."""
        if transform not in (None, "default", "pandas", "polars"):
            raise InputError(f"transform must be default, pandas or polars, not {transform!r}")
        if transform is not None:
            self._output_kind = transform
        return self

    def save(self, folder: str | Path) -> None:
        """Writes a run folder, in place of the run that is there."""
        self._run().save(folder)

    @classmethod
    def load(cls, folder: str | Path) -> MaskGAE:
        """Reads a run folder that :meth:`save` or ``maskgae fit`` wrote."""
        from maskgae.run import Run

        run = Run.load(folder)
        flat = {key: value for key, value in run.settings.flat().items() if key != "seed"}
        seed, columns = run.settings.seed, 0
        if run.has_table and run.graph.features is not None:
            columns = run.graph.features.num_columns
        model = cls(holdout=bool(run.held_out), settings=flat, random_state=seed)
        return model._keep(run, columns)

    def save_pretrained(self, folder: str | Path, **how: Any) -> str | None:
        """Writes a run folder with a model card, see :meth:`maskgae.Run.save_pretrained`."""
        return self._run().save_pretrained(folder, **how)

    @classmethod
    def from_pretrained(cls, name: str | Path, **how: Any) -> MaskGAE:
        """Reads a run folder, or a run of that name on the Hugging Face hub."""
        from maskgae.run.hub import fetched

        return cls.load(fetched(name, **how))

    def _repr_html_(self) -> str:
        """The head of the run's page above scikit-learn's own diagram."""
        from sklearn.utils import estimator_html_repr

        head: str = self.run_._repr_html_() if hasattr(self, "run_") else ""
        return head + estimator_html_repr(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _keep(self, run: Run, columns: int) -> MaskGAE:
        self.run_ = run
        self.embedding_, self.node_names_ = run.embedding, run.ids
        self.metrics_, self.history_ = run.metrics, run.history
        self.n_features_in_ = columns
        return self

    def _run(self) -> Run:
        if not hasattr(self, "run_"):
            raise NotFittedError("this MaskGAE is not fitted yet: call fit(graph) first")
        return self.run_

    def _check_same(self, run: Run, X: Any) -> None:
        from maskgae.run import read

        other = read(X).graph.pairs
        if other.shape != run.graph.pairs.shape or not (other == run.graph.pairs).all():
            raise InputError(
                "these are not the edges that it was fitted on: the rows of one graph cannot be "
                "cut apart by cross-validation; use GridSearchCV(..., cv=HeldOutLinks())"
            )

    def _output(self, vectors: NDArray[np.float32], names: NDArray[Any]) -> Any:
        kind = getattr(self, "_output_kind", get_config()["transform_output"])
        if kind == "pandas":
            import pandas

            return pandas.DataFrame(vectors, names, self.get_feature_names_out())
        if kind == "polars":
            import polars

            return polars.DataFrame(vectors, self.get_feature_names_out().tolist())
        return vectors

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "run_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


class HeldOutLinks:
    """A splitter for ``GridSearchCV`` on a graph: one split, with all rows on both sides.

    The rows of one graph cannot be cut apart: the estimator itself holds out edges, and scores by
    those of its validation.

    >>> [(len(train), len(test)) for train, test in HeldOutLinks().split([(0, 1), (1, 2)])]
    [(2, 2)]
    """

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Any, Any]]:
        """All rows to train on and, once more, all rows to score."""
        rows = np.arange(X.shape[0] if hasattr(X, "shape") else len(X))
        yield rows, rows

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """How many splits there are: one."""
        return 1


def _seed(random_state: Any) -> int:
    """The seed of a run from what scikit-learn calls a random state."""
    if random_state is None:
        return secrets.randbits(31)
    for draw in ("integers", "randint"):
        if hasattr(random_state, draw):
            return int(getattr(random_state, draw)(2**31 - 1))
    if not isinstance(random_state, int | np.integer):
        raise InputError(f"random_state is a whole number or a generator, not {random_state!r}")
    return int(random_state)
