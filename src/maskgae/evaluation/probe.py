r"""The linear probe: how much of the labels a linear classifier reads off frozen embeddings.

========  ==============================================================================
logistic  multinomial regression, :math:`\min_W \tfrac12 |W|^2 + C \sum_i \ell(W x_i + b, y_i)`,
          its :math:`C` chosen on validation accuracy
adam      as published with MaskGAE: one linear layer, 100 epochs of Adam at 0.01 with
          weight decay, weights of the best validation epoch
========  ==============================================================================

Either way the test nodes are looked at once, after the choice.

For ``logistic`` all vectors are divided by one number, so that training nodes lie at distance 1
from their centre in the mean square: the grid of penalties then means the same for every
embedding, whatever its scale. Columns are not standardised one by one, which would blow up the
words and directions that hardly vary over 20 nodes per class: on SGC features (smoothed twice) it
costs 13 points of accuracy on Cora and 27 on CiteSeer, and gains half a point at most (raw Photo).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from maskgae.base.errors import InputError, RunError
from maskgae.base.rng import Stream
from maskgae.base.settings import ProbeConfig
from maskgae.base.sizes import CHUNK_NUMBERS
from maskgae.data.labels import NodeSplit
from maskgae.evaluation.metrics import classification_metrics

#: The published probe's.
ADAM_EPOCHS = 100
ADAM_RATE = 0.01


def probe(
    embedding: Any, labels: ArrayLike, split: NodeSplit, config: ProbeConfig, stream: Stream
) -> dict[str, float]:
    """Fits a linear classifier on the training nodes and scores the test nodes once.

    Args:
        embedding: one row per node: tensor, array or SciPy matrix.
        labels: a class for each node, -1 where it is unknown.
        split: nodes to learn from, to select on and to test on; unlabelled ones are left out.
        config: which probe, and the penalties to choose from.
        stream: where the initial weights of ``adam`` come from.

    Returns:
        ``accuracy`` and ``macro_f1`` on the test nodes, ``val_accuracy``, and ``chosen``, the
        entry of the grid.

    Shapes:
        - **embedding:** ``[N, D]``
        - **labels:** ``[N]``

    >>> from maskgae.base.rng import stream
    >>> x, y = np.array([[-2.0], [2.0], [-1.0], [1.0], [-3.0], [3.0]]), [0, 1, 0, 1, 0, 1]
    >>> split = NodeSplit(torch.tensor([0, 1]), torch.tensor([2, 3]), torch.tensor([4, 5]))
    >>> probe(x, y, split, ProbeConfig(grid=(0.1, 1.0)), stream(0))
    {'accuracy': 1.0, 'macro_f1': 1.0, 'val_accuracy': 1.0, 'chosen': 0.1}
    """
    y = np.asarray(labels)
    parts = {name: _labelled(getattr(split, name), y, name) for name in ("train", "val", "test")}
    x = {name: _rows(embedding, nodes) for name, nodes in parts.items()}
    targets = {name: y[nodes] for name, nodes in parts.items()}
    if np.unique(targets["train"]).size < 2:
        raise InputError("a probe needs two classes among its training nodes, but there is one")
    fit = {"logistic": _logistic, "adam": _adam}[config.kind]
    predicted, val_accuracy, chosen = fit(x, targets, config.grid, stream)
    result = classification_metrics(targets["test"], predicted)
    return {**result, "val_accuracy": val_accuracy, "chosen": chosen}


Parts = dict[str, Any]


def _logistic(
    x: Parts, y: Parts, grid: tuple[float, ...], stream: Stream
) -> tuple[NDArray[Any], float, float]:
    """Predictions for the test nodes, validation accuracy and the chosen :math:`C`."""
    # Slow to import, and only this function needs them.
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    frame = _Frame.of(x["train"])
    train = frame.rows(x["train"])
    # From one penalty to the next, weaker one, the weights start where they were. The default
    # tolerance, 1e-4, stops after one step where the penalty is strong.
    model = LogisticRegression(warm_start=True, tol=1e-5, max_iter=20_000)
    best, best_accuracy = None, -1.0
    for penalty in sorted(grid):
        with warnings.catch_warnings():
            # What is left is a line search that ends at the precision of its numbers.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(C=penalty).fit(train, y["train"])
        accuracy = float((frame.predicted(model, x["val"]) == y["val"]).mean())
        if accuracy > best_accuracy:  # on ties the stronger penalty stays
            best, best_accuracy = copy.copy(model), accuracy
    assert best is not None
    return frame.predicted(best, x["test"]), best_accuracy, float(best.C)


def _adam(
    x: Parts, y: Parts, grid: tuple[float, ...], stream: Stream
) -> tuple[NDArray[Any], float, float]:
    """Predictions for the test nodes, validation accuracy and the chosen weight decay.

    With several decays, each is tried from the same initial weights.
    """
    data = {name: torch.from_numpy(_dense(rows).astype(np.float32)) for name, rows in x.items()}
    classes = torch.from_numpy(np.unique(y["train"]))
    target = torch.searchsorted(classes, torch.from_numpy(y["train"]))
    val = torch.from_numpy(y["val"])
    best: tuple[Tensor, Tensor] | None = None
    best_accuracy, chosen = -1.0, grid[0]
    for decay in grid:
        for weight, bias in _adam_epochs(data["train"], target, classes.numel(), decay, stream):
            guess = classes[(data["val"] @ weight + bias).argmax(1)]
            accuracy = float((guess == val).double().mean())
            if accuracy > best_accuracy:
                best, best_accuracy, chosen = (weight.clone(), bias.clone()), accuracy, decay
    assert best is not None
    predicted = classes[(data["test"] @ best[0] + best[1]).argmax(1)]
    return predicted.numpy(), best_accuracy, float(chosen)


def _adam_epochs(
    x: Tensor, y: Tensor, num_classes: int, decay: float, stream: Stream
) -> Iterator[tuple[Tensor, Tensor]]:
    """The weights ``[D, C]`` and the bias ``[C]`` after each epoch.

    As published: Glorot's weights and no bias at first, batches of 512 nodes, of 4,096 on the
    large graphs, in a new order each epoch.
    """
    bound = (6 / (x.shape[1] + num_classes)) ** 0.5
    weight = torch.empty(x.shape[1], num_classes)
    weight.uniform_(-bound, bound, generator=stream.at("weights").torch()).requires_grad_()
    bias = torch.zeros(num_classes, requires_grad=True)
    optimizer = torch.optim.Adam([weight, bias], lr=ADAM_RATE, weight_decay=decay)
    batch = 512 if y.numel() < 10_000 else 4096
    for epoch in range(ADAM_EPOCHS):
        order = torch.randperm(y.numel(), generator=stream.at("order", epoch).torch())
        for nodes in order.split(batch):
            optimizer.zero_grad()
            F.cross_entropy(torch.addmm(bias, x[nodes], weight), y[nodes]).backward()
            optimizer.step()
        yield weight.detach(), bias.detach()


def _labelled(nodes: Tensor, labels: NDArray[Any], part: str) -> NDArray[np.int64]:
    index = nodes.cpu().numpy()
    index = index[labels[index] >= 0]
    if index.size == 0:
        raise InputError(f"a probe needs labelled {part} nodes, but the split has none")
    return np.asarray(index)


def _rows(embedding: Any, nodes: NDArray[np.int64]) -> Any:
    """Some rows, sparse where the embedding is."""
    if sp.issparse(embedding):
        rows = sp.csr_array(sp.csr_array(embedding)[nodes])
        values = rows.data
    else:
        table = embedding.detach().cpu().numpy() if isinstance(embedding, Tensor) else embedding
        rows = values = np.asarray(table)[nodes]
    if not np.isfinite(values).all():
        raise RunError("the embedding has NaN or infinite entries: lower training.lr and run again")
    return rows


@dataclass(frozen=True)
class _Frame:
    """The coordinates in which a classifier is fitted; predictions need only its weights.

    Rows are divided by the root mean square distance of the training rows from their centre. Dense
    rows are centred too; that only helps the solver, since the bias takes up any shift. Where the
    training rows are fewer than columns, they are written in the space that they span, in which
    the penalised weights lie.

    Shapes:
        - **centre:** ``[D]``, zero for sparse rows
        - **basis:** ``[D, n]``, or ``None`` for the columns as they are
    """

    centre: NDArray[np.float64]
    scale: float
    basis: NDArray[np.float64] | None

    @classmethod
    def of(cls, train: Any) -> _Frame:
        train = train.astype(np.float64)
        centre = np.asarray(train.mean(axis=0)).reshape(-1)
        if sp.issparse(train):
            spread = (train.data**2).sum() / train.shape[0] - (centre**2).sum()
            centre = np.zeros_like(centre)
        else:
            train = train - centre
            spread = (train**2).sum() / train.shape[0]
        scale = float(np.sqrt(spread)) if spread > 0 else 1.0
        return cls(centre, scale, _span(train / scale))

    def rows(self, rows: Any) -> Any:
        """Rows in these coordinates, ``[n, D]`` to ``[n, n]`` or as wide as they are."""
        rows = rows.astype(np.float64)
        moved = (rows if sp.issparse(rows) else rows - self.centre) / self.scale
        return moved if self.basis is None else np.asarray(moved @ self.basis)

    def predicted(self, model: Any, rows: Any) -> NDArray[Any]:
        """The classes of rows as they came, by a model of rows in these coordinates, ``[n]``."""
        own = copy.copy(model)
        weights = model.coef_ if self.basis is None else model.coef_ @ self.basis.T
        own.coef_ = weights / self.scale
        own.intercept_ = model.intercept_ - own.coef_ @ self.centre
        own.n_features_in_ = rows.shape[1]
        size = max(1, CHUNK_NUMBERS // max(1, rows.shape[1]))
        parts = (rows[start : start + size] for start in range(0, rows.shape[0], size))
        return np.concatenate([own.predict(part.astype(np.float64)) for part in parts])


def _span(train: Any) -> NDArray[np.float64] | None:
    """A basis of the space that rows span, ``[D, n]``; ``None`` where it saves nothing.

    That is where rows are no fewer than columns, or so sparse that they are cheaper as they are.
    """
    count, width = train.shape
    if count >= width or (sp.issparse(train) and 8 * train.nnz < count**2):
        return None
    lengths, left = np.linalg.eigh(_dense(train @ train.T))
    kept = lengths > 1e-12 * lengths[-1]
    if lengths[-1] <= 0:
        return None
    return np.asarray(train.T @ (left[:, kept] / np.sqrt(lengths[kept])))


def _dense(rows: Any) -> NDArray[Any]:
    return np.asarray(rows.toarray() if sp.issparse(rows) else rows)
