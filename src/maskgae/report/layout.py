"""Two dimensions for an embedding of many, so that it can be looked at.

t-SNE (van der Maaten and Hinton, 2008) of all nodes where there are few of them. Where there are
more, of a sample of landmarks, and every other node lies at the weighted mean of the landmarks
nearest to it in the embedding: 20,000 nodes take some seconds on one core.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream

Floats = NDArray[np.float64]

#: Up to this many nodes all take part in t-SNE.
ALL_NODES = 3000
LANDMARKS = 2000
PERPLEXITY = 30
ITERATIONS = 500
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
        return _scaled(_tsne(x, stream.at("tsne")))
    generator = stream.at("landmarks").numpy()
    chosen = np.sort(generator.choice(len(x), LANDMARKS, replace=False))
    places = _tsne(x[chosen], stream.at("tsne"))
    return _scaled(_placed(x, x[chosen], places, stream))


def _components(values: Floats) -> Floats:
    """The leading principal components of the standardised columns, two at the least."""
    from sklearn.decomposition import PCA

    spread = values.std(axis=0)
    # A column that is constant but for rounding would become pure noise.
    moving = spread > 1e-9 * (np.abs(values).max(initial=0.0) + 1e-300)
    x = (values[:, moving] - values[:, moving].mean(axis=0)) / spread[moving]
    width = min(*x.shape, COMPONENTS)
    if width > 2:
        return PCA(width, svd_solver="covariance_eigh").fit_transform(x)
    return np.pad(x, ((0, 0), (0, max(0, 2 - x.shape[1]))))


def _tsne(x: Floats, stream: Stream) -> Floats:
    """t-SNE on one thread, since sums of several threads differ from run to run."""
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(x, axis=0))
    if distinct < 5:
        return x[:, :2]
    model = TSNE(
        perplexity=min(PERPLEXITY, (len(x) - 1) / 3),
        init=_initial(x),
        learning_rate="auto",
        max_iter=ITERATIONS,
        random_state=stream.key % 2**32,
    )
    with threadpool_limits(1):
        return model.fit_transform(x).astype(np.float64)


def _initial(x: Floats) -> NDArray[np.float32]:
    """The first two components, small, as scikit-learn's ``init='pca'`` has them."""
    return (1e-4 * x[:, :2] / max(float(x[:, 0].std()), 1e-12)).astype(np.float32)


def _placed(x: Floats, landmarks: Floats, places: Floats, stream: Stream) -> Floats:
    """Every node at the mean of its nearest landmarks, nearer ones counting more."""
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute").fit(landmarks)
    # [N, NEIGHBOURS]
    distances, nearest = search.kneighbors(x)
    weights = 1 / (distances**2 + 1e-9)
    weights /= weights.sum(axis=1, keepdims=True)
    mean = np.einsum("nk,nkd->nd", weights, places[nearest])
    # Nodes with the same landmarks would lie on top of each other.
    jitter = stream.at("jitter").numpy().normal(size=mean.shape)
    return mean + 0.003 * np.ptp(places, axis=0).max() * jitter


def _scaled(places: Floats) -> Floats:
    """Centred, and as wide or high as -1 to 1, whichever is more."""
    if not len(places):
        return places
    low, high = places.min(axis=0), places.max(axis=0)
    half = float((high - low).max()) / 2 or 1.0
    return (places - (low + high) / 2) / half
