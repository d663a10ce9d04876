"""Which settings a fit starts from: what suits the graph, a preset, and what the user says.

The thresholds are judgements, made on the figures that this project has measured on citation,
co-purchase and import graphs; they are starting points and no optimum. Every choice comes with its
reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data.features import Features, SparseFeatures
from maskgae.data.graph import Graph
from maskgae.evaluation.link_task import RANKED_NODES
from maskgae.evaluation.rules import KNN_NODES
from maskgae.evaluation.scorer import LOW_RANK_DEGREE, LOW_RANK_NODES
from maskgae.presets import preset as named_preset

#: Neighbours on average below which a graph is hardly more than a tree.
TREE_LIKE = 2.2
#: Neighbours on average from which a graph is called dense.
DENSE = 20
#: Share of non-zero features below which they are taken for words.
WORDS = 0.05
#: Nodes from which little dropout is enough.
MANY_NODES = 50_000
#: Nodes from which layers are kept narrow.
VERY_MANY_NODES = 2_000_000
#: Columns that are made from the edges of a graph without features.
STRUCTURE = 128
#: Pairs from which as many as this are held out for each of validation and test.
MANY_PAIRS, HELD_OUT_PAIRS = 5_000_000, 100_000


@dataclass
class Suggestion:
    """Settings to start from, by dotted key, and why."""

    settings: dict[str, Any] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, **settings: Any) -> None:
        """Takes settings up, with ``__`` for the dot of a key."""
        dotted = {key.replace("__", "."): value for key, value in settings.items()}
        self.settings |= dotted
        self.why |= dict.fromkeys(dotted, reason)

    @property
    def reasons(self) -> list[str]:
        """Each reason once, in the order in which they were given."""
        return list(dict.fromkeys(self.why.values()))


@dataclass(frozen=True)
class GraphSize:
    """The few numbers of a graph that settings follow from."""

    nodes: int
    pairs: int
    mean_degree: float
    feature_density: float | None


def measure_size(graph: Graph) -> GraphSize:
    """Measures a graph of any size at once.

    >>> measure_size(Graph.from_edges([(0, 1), (1, 2)], 4))
    GraphSize(nodes=4, pairs=2, mean_degree=1.0, feature_density=None)
    """
    if graph.num_pairs == 0:
        raise InputError(f"{graph.name} has no edges, so there is nothing to learn from")
    density = None
    if graph.features is not None:
        rows = stream(0, "measure", "density").numpy().integers(graph.num_nodes, size=256)
        density = feature_density(graph.features, rows)
    mean = 2 * graph.num_pairs / graph.num_nodes
    return GraphSize(graph.num_nodes, graph.num_pairs, mean, density)


def feature_density(features: Features, rows: NDArray[np.int64]) -> float:
    """The share of non-zero entries, of some rows where the features are dense."""
    if isinstance(features, SparseFeatures):
        return features.density
    picked = features.rows(torch.from_numpy(rows)).dense()
    return float(picked.count_nonzero() / (rows.size * features.num_columns))


def suggest(graph: Graph) -> Suggestion:
    """Settings to start from: always the same for the same graph, within seconds.

    >>> suggestion = suggest(Graph.from_edges([(0, 1), (1, 2), (0, 2), (2, 3)]))
    >>> suggestion.settings["mask.kind"], suggestion.settings["mask.p"]
    ('edge', 0.15)
    """
    known = measure_size(graph)
    suggestion = Suggestion()
    _choose_mask(known, suggestion)
    _choose_width(known, suggestion)
    _choose_dropout(known, suggestion)
    _choose_length(known, suggestion)
    _choose_split(known, suggestion)
    _choose_scorer(known, suggestion)
    _choose_readout(known, suggestion)
    return suggestion


def _choose_mask(facts: GraphSize, suggestion: Suggestion) -> None:
    kind = {"mask__kind": "edge", "mask__semantics": "strict"}
    if facts.mean_degree < TREE_LIKE:
        reason = "Light edge masks: with so few edges, more would leave most nodes on their own."
        suggestion.add(reason, **kind, mask__p=0.15)
        return
    reason = (
        "Edge masks that hide 30 % in both directions: strict masks want a lower ratio than the "
        "paper's 0.7, which hides about half of the edges in its own code."
    )
    suggestion.add(reason, **kind, mask__p=0.3)


def _choose_width(facts: GraphSize, suggestion: Suggestion) -> None:
    if facts.nodes < 500:
        reason = f"Narrow layers: {facts.nodes:,} nodes cannot train many weights."
        suggestion.add(reason, encoder__hidden=64, encoder__dim=32)
    elif facts.nodes >= VERY_MANY_NODES:
        reason = (
            "The paper's widths for small graphs: each column costs 4 bytes per node and layer."
        )
        suggestion.add(reason, encoder__hidden=128, encoder__dim=64)
    elif facts.nodes >= 100_000:
        reason = "Wide layers, as the paper's on graphs of this size."
        suggestion.add(reason, encoder__hidden=256, encoder__dim=128)
    elif facts.mean_degree >= DENSE:
        reason = (
            f"A wider last layer and decoder: {facts.mean_degree:.0f} neighbours on average give "
            "more to remember, as on the co-purchase graphs."
        )
        suggestion.add(reason, encoder__hidden=128, encoder__dim=128, decoder__hidden=128)
    elif _words(facts) and facts.nodes < MANY_NODES:
        reason = (
            "One wide layer and three negative samples per edge: on bags of words, the strong "
            "dropout before a second layer costs two points of link AUC on the citation graphs."
        )
        suggestion.add(
            reason,
            encoder__layers=1,
            encoder__dim=256,
            decoder__hidden=64,
            objective__negatives=3,
            training__weight_decay=0.0,
        )
    else:
        reason = "The paper's widths for graphs of this size."
        suggestion.add(reason, encoder__hidden=128, encoder__dim=64)


def _words(facts: GraphSize) -> bool:
    """Whether the features look like words of texts."""
    return facts.feature_density is not None and facts.feature_density < WORDS


def _choose_dropout(facts: GraphSize, suggestion: Suggestion) -> None:
    if facts.feature_density is None:
        reason = (
            "No features: they are made from degrees and eigenvectors of the edges, without the "
            "part that a mask hides."
        )
        suggestion.add(reason, encoder__dropout=0.2, encoder__structure=STRUCTURE)
    elif facts.nodes >= MANY_NODES:
        reason = "Little dropout: a graph of this size is hard to learn by heart."
        suggestion.add(reason, encoder__dropout=0.2)
    elif _words(facts):
        reason = (
            f"Strong dropout: {100 * facts.feature_density:.1f} % of the features are not zero, as "
            "with words, where any single one must not decide."
        )
        suggestion.add(reason, encoder__dropout=0.8)
    else:
        reason = "Medium dropout: dense features say the same thing less often."
        suggestion.add(reason, encoder__dropout=0.5)


def _choose_length(facts: GraphSize, suggestion: Suggestion) -> None:
    epochs = 500 if facts.pairs < 100_000 else 300 if facts.pairs < 1_000_000 else 100
    every = 10 if epochs > 100 else 5
    reason = (
        f"Up to {epochs} epochs, fewer where validation stops rising: an epoch over "
        f"{facts.pairs:,} edges is one update, and smaller graphs need more of them."
    )
    patience = max(30, epochs // 5)
    suggestion.add(
        reason, training__epochs=epochs, training__eval_every=every, training__patience=patience
    )


def _choose_scorer(facts: GraphSize, suggestion: Suggestion) -> None:
    if facts.nodes > RANKED_NODES:
        return
    reason = (
        "Pairs are scored by the network and by simple rules together, weighted on held-out edges "
        "of validation; where the rules do not help there, the network scores alone."
    )
    suggestion.add(reason, scorer__kind="combined")
    dense = facts.mean_degree >= LOW_RANK_DEGREE and facts.nodes <= LOW_RANK_NODES
    alike = facts.feature_density is not None and facts.nodes <= KNN_NODES
    if dense or alike:
        reason = (
            "All rules: the low-rank adjacency where the graph is dense, and features smoothed "
            "over nodes of like features where there are any."
        )
        suggestion.add(reason, scorer__rules="all")


def _choose_readout(facts: GraphSize, suggestion: Suggestion) -> None:
    if facts.nodes > RANKED_NODES:
        return
    reason = (
        "The embedding keeps what went in beside what was learnt: the network's layers, the "
        "features, smoothed features and eigenvectors of the edges, in 256 columns."
    )
    suggestion.add(reason, embedding__parts="both", embedding__columns=256)


def _choose_split(facts: GraphSize, suggestion: Suggestion) -> None:
    if facts.pairs < MANY_PAIRS:
        return
    share = float(f"{HELD_OUT_PAIRS / facts.pairs:.3g}")
    reason = (
        f"About {HELD_OUT_PAIRS:,} edges held out for validation and as many for the test: that "
        "tells AUCs apart to a tenth of a point, and more would only cost time."
    )
    suggestion.add(reason, split__val=share, split__test=share, split__message_edges="train")


def resolve_settings(
    graph: Graph,
    preset: str | None = None,
    dim: int | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """Settings for a graph: a preset's or what suits it, then what the user says by dotted key."""
    base = named_preset(preset).overrides if preset else suggest(graph).settings
    settings = Settings().updated({**base, **as_overrides(overrides)})
    return settings if dim is None else settings.updated(_widths(settings, plain(dim)))


def as_overrides(settings: Any) -> dict[str, Any]:
    """What a user sets by dotted key, in Python's own numbers.

    >>> as_overrides({"mask.p": np.float32(0.5)})
    {'mask.p': 0.5}
    """
    if not isinstance(settings or {}, Mapping):
        raise InputError(
            f"settings are values by dotted key, such as {{'mask.p': 0.5}}, not {settings!r}"
        )
    return {key: plain(value) for key, value in (settings or {}).items()}


def plain(value: Any) -> Any:
    """A number of NumPy, such as a grid may have, as Python's own; whatever else, as it is."""
    return value.item() if isinstance(value, np.generic) else value


def _widths(settings: Settings, dim: int) -> dict[str, Any]:
    """Widths of the layers whose readout has ``dim`` columns."""
    layers = settings.encoder.layers
    if not isinstance(dim, int) or dim < 1:
        raise InputError(f"dim must be a whole number from 1 on, not {dim!r}")
    if settings.embedding.parts == "both":
        return {"embedding.columns": dim}
    if settings.embedding.propagated:
        raise InputError(
            f"dim says how many columns come out, but embedding.propagated = "
            f"{settings.embedding.propagated} appends all columns of the features: leave out dim, "
            "or set embedding.propagated=0"
        )
    if settings.embedding.layers == "last" or layers == 1:
        return {"encoder.dim": dim}
    if dim < layers:
        raise InputError(f"dim must be {layers} at least, one column for each layer, not {dim}")
    hidden = dim // layers
    if settings.encoder.kind == "gat":
        hidden -= hidden % settings.encoder.heads
    return {"encoder.hidden": hidden, "encoder.dim": dim - hidden * (layers - 1)}
