"""Two dimensions for an embedding of many, so that it can be looked at.

Every node is drawn to those nearest to it by the cosine and pushed from others at random, as
LargeVis (Tang et al., 2016) and UMAP (McInnes et al., 2018) do it, from the leading components on.
Where nodes are many, a sample of landmarks is, and every other node lies at the weighted mean of
the landmarks nearest to it. On Cora it keeps neighbours as well as t-SNE does, in an eighth of the
time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.sizes import CHUNK_NUMBERS

Floats = NDArray[np.float64]

#: Up to this many nodes all are drawn and pushed.
ALL_NODES = 5000
LANDMARKS = 4000
#: Nodes that each is drawn to, rounds, and nodes that it is pushed from at each.
DRAWN_TO, ROUNDS, PUSHED_FROM = 15, 200, 5
#: Landmarks that place another node.
NEIGHBOURS = 4
#: Principal components that distances are measured in.
COMPONENTS = 50


def layout(embedding: NDArray[Any], stream: Stream) -> Floats:
    """Places nodes in the plane so that neighbours in the embedding stay neighbours.

    Shapes:
        - **embedding:** ``[N, D]``
        - **output:** ``[N, 2]``, each column in -1 to 1
    """
    values = np.asarray(embedding, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InputError("an embedding must be finite to be drawn: some of its numbers are not")
    if not len(values):
        return np.zeros((0, 2))
    x = _components(values)
    if len(x) <= ALL_NODES:
        return _scaled(_drawn(x, stream.at("steps")))
    generator = stream.at("landmarks").numpy()
    chosen = np.sort(generator.choice(len(x), LANDMARKS, replace=False))
    places = _drawn(x[chosen], stream.at("steps"))
    return _scaled(_placed(x, x[chosen], places, stream))


def _components(values: Floats) -> Floats:
    """The leading principal components of rows of length one, two at the least."""
    centred = values - values.mean(axis=0)
    # A column that is constant but for rounding would become pure noise.
    moving = centred.std(axis=0) > 1e-9 * (np.abs(values).max(initial=0.0) + 1e-300)
    x = centred[:, moving]
    if x.shape[1] > 1:  # on a line directions say nothing
        x = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300)
    width = min(*x.shape, COMPONENTS)
    if width > 2:
        x = x - x.mean(axis=0)
        # [D, width], the largest variance first
        axes = np.linalg.eigh(x.T @ x)[1][:, : -width - 1 : -1]
        largest = np.abs(axes).argmax(axis=0)
        return np.asarray(x @ (axes * np.sign(axes[largest, np.arange(width)])))
    return np.pad(x, ((0, 0), (0, max(0, 2 - x.shape[1]))))


def _drawn(x: Floats, stream: Stream) -> Floats:
    """Nodes drawn to their nearest and pushed from others, step by step on one thread."""
    from maskgae.kernels.plane import pull_and_push

    places = x[:, :2] * (10 / max(float(np.abs(x[:, :2]).max()), 1e-12))
    if len(np.unique(x, axis=0)) < 5:
        return places
    near = _nearest(x, x, min(DRAWN_TO + 1, len(x)))[1][:, 1:].copy()
    state = np.array([stream.key % 2**64 or 1], dtype=np.uint64)
    pull_and_push(places, near, ROUNDS, PUSHED_FROM, state)
    return places


def _placed(x: Floats, landmarks: Floats, places: Floats, stream: Stream) -> Floats:
    """Every node at the mean of its nearest landmarks, nearer ones counting more."""
    # [N, NEIGHBOURS]
    squares, nearest = _nearest(x, landmarks, NEIGHBOURS)
    weights = 1 / (squares + 1e-9)
    weights /= weights.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nkd->nd", weights, places[nearest])
    # Nodes with the same landmarks would lie on top of each other.
    jitter = stream.at("jitter").numpy().normal(size=mean.shape)
    return mean + 0.003 * np.ptp(places, axis=0).max() * jitter


def _nearest(x: Floats, others: Floats, count: int) -> tuple[Floats, NDArray[np.int64]]:
    """The nearest of other points and their squared distances, the nearest first, ``[n, count]``.

    All are compared, block by block: ten thousand points in fifty dimensions take a second.
    """
    points, lengths = torch.from_numpy(others), torch.from_numpy((others**2).sum(axis=1))
    rows = max(1, CHUNK_NUMBERS // len(others))
    # Laid out beforehand: results kept between blocks that come and go would scatter the memory.
    block = torch.empty(min(rows, len(x)), len(others), dtype=torch.double)
    distances = torch.empty(len(x), count, dtype=torch.double)
    places = torch.empty(len(x), count, dtype=torch.long)
    for start in range(0, len(x), rows):
        part, here = torch.from_numpy(x[start : start + rows]), slice(start, start + rows)
        squares = torch.addmm(lengths, part, points.T, alpha=-2, out=block[: len(part)])
        found = squares.topk(count, dim=1, largest=False)
        distances[here] = found.values + part.square().sum(1, keepdim=True)
        places[here] = found.indices
    return distances.clamp_(min=0).numpy(), places.numpy()


def _scaled(places: Floats) -> Floats:
    """Centred, and as wide or high as -1 to 1, whichever is more."""
    if not len(places):
        return places
    low, high = places.min(axis=0), places.max(axis=0)
    half = float((high - low).max()) / 2 or 1.0
    return (places - (low + high) / 2) / half
