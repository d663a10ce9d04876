"""The scikit-learn face: fit a graph, get vectors, missing links and scores."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from maskgae.base.errors import InputError
from maskgae.io.convert import as_graph
from maskgae.nn.losses import pair_logits
from maskgae.run.defaults import resolve_settings
from maskgae.run.fitting import Fit, fit_graph
from maskgae.run.links import missing_links


# Output is an array whatever scikit-learn's set_output says, so its wrapper stays off.
class MaskGAE(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc,call-arg]
    """Node embeddings of an unlabelled graph by masked graph modelling.

    Args:
        mask: ``edge``, ``path`` or ``none``; where ``None``, as the settings say.
        dim: number of columns that come out; where ``None``, as the settings say.
        holdout: whether to hold out pairs for stopping and for the test of ``record_``.
        preset: a named preset to start from; else settings follow from the graph.
        settings: dotted keys that override those, such as ``{"mask.p": 0.5}``.
        device: where to compute.
        random_state: the seed of the run.

    Attributes:
        embedding_: ``[N, D]``, the vectors of the fitted graph's nodes.
        record_: metrics on held-out pairs beside the sanity rows, settings, audit, times.
        names_: what the nodes are called.

    >>> import networkx
    >>> graph = networkx.les_miserables_graph()
    >>> model = MaskGAE(dim=16, random_state=0, settings={"training.epochs": 20}).fit(graph)
    >>> model.embedding_.shape
    (77, 16)
    >>> sorted(model.predict_links(top=1, nodes=["Cosette"]))
    ['score', 'source', 'target']
    """

    def __init__(
        self,
        mask: str | None = None,
        dim: int | None = None,
        *,
        holdout: bool = True,
        preset: str | None = None,
        settings: dict[str, Any] | None = None,
        device: str = "cpu",
        random_state: int = 0,
    ) -> None:
        self.mask = mask
        self.dim = dim
        self.holdout = holdout
        self.preset = preset
        self.settings = settings
        self.device = device
        self.random_state = random_state

    def fit(self, graph: Any, y: Any = None, *, features: Any = None) -> MaskGAE:
        """Trains on a graph.

        Args:
            graph: our Graph, PyG ``Data``, SciPy sparse matrix, NetworkX graph, pandas frame of
                edges, or edge array.
            y: labels, used for evaluation only.
            features: a row for each node, in the order of its numbers or names; the rows of a
                pandas frame go by its index where that has the names.
        """
        own, self.names_ = as_graph(graph, features, y)
        settings = resolve_settings(
            own, self.mask, self.dim, self.random_state, self.preset, self.settings
        )
        self._keep(fit_graph(own, settings, holdout=self.holdout, device=self.device))
        return self

    def transform(self, graph: Any = None, *, features: Any = None) -> NDArray[np.float32]:
        """Vectors of the fitted graph, or of another with the same kind of features, ``[N, D]``.

        A network with learnable node vectors knows only the nodes it was fitted on. Where features
        came from structure, the fitted nodes must be among the other graph's, by their names.
        """
        fit = self._fit()
        if graph is None:
            return self.embedding_
        other, names = as_graph(graph, features)
        if fit.structural is not None and other.features is None:
            known = _places(self.names_, names, "the new graph, which must have the fitted nodes")
            other = other.with_features(fit.structural.transform(other, known))
        return np.asarray(fit.net.embed(other).cpu().numpy())

    def fit_transform(self, graph: Any, y: Any = None, **fit_params: Any) -> NDArray[np.float32]:
        """Trains on a graph and returns its vectors."""
        return self.fit(graph, y, **fit_params).transform()

    def predict_links(self, top: int = 10, nodes: Any = None) -> dict[str, NDArray[Any]]:
        """The highest-scored missing links of each node, best first.

        Args:
            top: links a node, at most.
            nodes: names of the nodes to ask about; all of them where ``None``.

        Returns:
            Columns ``source``, ``target`` and ``score``; the score is the decoder's probability,
            calibrated for as many edges as non-edges.
        """
        fit = self._fit()
        nodes = [nodes] if isinstance(nodes, str) else nodes
        asked = None if nodes is None else torch.from_numpy(self._numbers(nodes))
        z = fit.net.encode(fit.graph)[-1].cpu()
        links = missing_links(z, copy.deepcopy(fit.net.decoder).cpu(), fit.graph, top, asked)
        return {
            "source": self.names_[links.source.numpy()],
            "target": self.names_[links.target.numpy()],
            "score": links.score.numpy(),
        }

    def score_pairs(self, pairs: Any) -> NDArray[np.float32]:
        """Probabilities of given pairs of names, ``[P, 2] -> [P]``."""
        fit = self._fit()
        table = np.asarray(pairs, dtype=object)
        numbers = torch.from_numpy(self._numbers(table.reshape(-1)).reshape(-1, 2).T.copy())
        z = fit.net.encode(fit.graph)[-1]
        return np.asarray(pair_logits(z, fit.net.decoder, numbers.to(z.device)).sigmoid().cpu())

    def save(self, folder: str | Path) -> None:
        """Writes a run folder, in place of the run that is there."""
        from maskgae.run.folder import check_replaceable, clear_results, run_folder, save_run

        fit, folder = self._fit(), Path(folder)
        with run_folder(folder, check_replaceable, anew=True) as place:
            clear_results(place)
            save_run(place, fit, self.names_)

    @classmethod
    def load(cls, folder: str | Path) -> MaskGAE:
        """Reads a run folder that :meth:`save` or ``maskgae fit`` wrote."""
        from maskgae.run.folder import load_run
        from maskgae.training import TrainingState

        run = load_run(Path(folder))
        settings = run.net.settings
        embedding = run.net.embed(run.graph)
        model = cls(
            holdout=bool(run.held_out),
            settings={key: value for key, value in settings.flat().items() if key != "seed"},
            random_state=settings.seed,
        )
        model.names_ = run.ids
        model._keep(
            Fit(run.net, run.graph, None, run.structural, TrainingState(), run.record, embedding)
        )
        return model

    def _keep(self, fit: Fit) -> None:
        self.fit_ = fit
        self.embedding_: NDArray[np.float32] = fit.embedding.numpy()
        self.record_ = fit.record

    def _fit(self) -> Fit:
        if not hasattr(self, "fit_"):
            raise NotFittedError("this MaskGAE is not fitted yet: call fit(graph) first")
        return self.fit_

    def _numbers(self, names: Any) -> NDArray[np.int64]:
        return _places(np.asarray(names), self.names_, "the fitted graph")


def _places(wanted: NDArray[Any], names: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Where each wanted name stands among the names."""
    place = {name: i for i, name in enumerate(names.tolist())}
    unknown = [name for name in wanted.tolist() if name not in place]
    if unknown:
        shown = ", ".join(repr(name) for name in unknown[:5])
        raise InputError(f"{len(unknown):,} names are not nodes of {where}: {shown}")
    return np.array([place[name] for name in wanted.tolist()], dtype=np.int64)
