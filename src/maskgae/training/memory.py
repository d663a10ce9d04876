r"""How much memory a fit takes, before it takes it.

With :math:`N` nodes, :math:`M` pairs, :math:`F` features a node, layers of widths :math:`w_l` on
:math:`n_l` nodes (all :math:`N` of them, or those of the blocks) and :math:`e_l` entries, and
:math:`D` columns of the embedding, a fit holds, beyond what was resident before it began,

.. math::
    150\,\mathrm{MB} + 80 M + \max(\mathrm{update}, \mathrm{evaluation}) + 16\,\mathrm{parameters}

    \mathrm{update} = 12 \left(n_0 F + \sum_l n_l w_l\right) + 4 \sum_l e_l c_l

    \mathrm{evaluation} = 150\,\mathrm{MB} + 150 M + 4 N \left(2 \sum_l w_l + D\right)
    + [\mathrm{labels}]\; 16 \min(N, 100\,000) D

bytes. 80 bytes per pair are the training graph with its rows and the ranks of negatives; three
numbers live beside each input and each output of a layer: the value, its gradient, and one of
dropout and normalisation. An entry costs :math:`c = 10` numbers, and six more per head for GAT.
Blocks overlap: :math:`x` draws from :math:`N` nodes are expected to be :math:`N (1 - e^{-x/N})`
different ones. Numbers of a store have 32 bits: a pair takes 50 bytes there, and 60 in the
evaluation. Above 512 MiB of layers' outputs, the evaluation takes half of that, works in chunks of
1 GiB, and maps from files what would not fit. ``docs/scale.md`` has what fits really held.
"""

from __future__ import annotations

import math
import os
import re

import torch

from maskgae.base.errors import InputError
from maskgae.base.limits import memory_left
from maskgae.base.settings import Settings
from maskgae.data.features import SparseFeatures
from maskgae.data.graph import Graph
from maskgae.nn.blocks import ALL
from maskgae.nn.layerwise import SWEEP_NUMBERS
from maskgae.nn.network import AT_ONCE
from maskgae.training.steps import fanouts_by_hop

#: Labelled nodes that a probe is fitted and tested on; of a larger graph a sample is.
JUDGED_NODES = 100_000

#: Pretends that this much memory is available, such as ``2GiB``.
VARIABLE = "MASKGAE_MEMORY"

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_FIXED = 150 * 10**6


def available_memory() -> int:
    """Bytes that this process may still take: of the machine, its container, its own limit."""
    pretended = os.environ.get(VARIABLE)
    if pretended:
        return parse_size(pretended)
    return memory_left()


def parse_size(text: str) -> int:
    """Bytes from a number with a unit.

    >>> parse_size("1.5GiB"), parse_size("200 MB"), parse_size("4096")
    (1610612736, 209715200, 4096)
    """
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]?)(i?b)?\s*", text.lower())
    try:
        assert found is not None
        return int(float(found[1]) * _UNITS[found[2]])
    except (AssertionError, ValueError):
        raise InputError(f"{VARIABLE} = '{text}' is no size: write it as 8GiB or 500MB") from None


def show_size(size: float) -> str:
    """A size for people.

    >>> show_size(1.5 * 2**30), show_size(300 * 2**20)
    ('1.5 GiB', '300 MiB')
    """
    return f"{size / 2**30:.1f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def block_sizes(graph: Graph, settings: Settings) -> tuple[list[float], list[float]]:
    """Nodes of the seeds and of each hop behind them, and the entries of each hop, as expected."""
    nodes, degree = graph.num_nodes, 2 * graph.num_pairs / max(1, graph.num_nodes)
    if not settings.training.fanouts:
        layers = settings.encoder.layers
        return [float(nodes)] * (layers + 1), [2.0 * graph.num_pairs] * layers
    pairs = settings.training.batch_pairs or expected_targets(graph, settings)
    sizes = [_different(2 * pairs * (1 + settings.objective.negatives), nodes)]
    entries = []
    for fanout in fanouts_by_hop(settings):
        entries.append(sizes[-1] * (degree if fanout == ALL else min(fanout, degree)))
        sizes.append(_different(sizes[-1] + entries[-1], nodes))
    return sizes, entries


def update_memory(graph: Graph, settings: Settings) -> float:
    """Bytes that one update holds at its peak."""
    config = settings.encoder
    if config.kind == "none":
        return 0.0
    sizes, entries = block_sizes(graph, settings)
    widths = [config.hidden] * (config.layers - 1) + [config.dim]
    # Sizes go from the seeds outwards, widths from the features inwards.
    outputs = sum(n * w for n, w in zip(sizes[-2::-1], widths, strict=True))
    each = 10 + (6 * config.heads if config.kind == "gat" else 0)
    inputs = sizes[-1] * _feature_numbers(graph, settings)
    return 12 * (inputs + outputs) + 4 * each * sum(entries)


def fit_memory(graph: Graph, settings: Settings) -> float:
    """Bytes that a fit takes beyond what is resident, at its peak."""
    config, nodes = settings.encoder, graph.num_nodes
    widths = config.hidden * (config.layers - 1) + config.dim
    if config.kind == "none":  # the joined inputs, side by side
        widths = 512
    columns = widths if settings.embedding.layers == "all" else config.dim
    outputs = min(2 * nodes * widths, 2 * AT_ONCE) + min(nodes * columns, AT_ONCE)
    held, evaluated = (50, 60) if graph.pairs.dtype == torch.int32 else (80, 150)
    evaluation = _FIXED + evaluated * graph.num_pairs + 4 * outputs
    if nodes * widths > AT_ONCE:
        evaluation = _FIXED + evaluated // 2 * graph.num_pairs + 16 * SWEEP_NUMBERS
    if graph.labels is not None:
        evaluation += 16 * min(nodes, JUDGED_NODES) * columns
    columns_in = 0 if graph.features is None else graph.features.num_columns
    parameters = columns_in * config.hidden + nodes * config.node_embedding  # nearly all of them
    always = _FIXED + held * graph.num_pairs + 16 * parameters
    return always + max(update_memory(graph, settings), evaluation)


def expected_targets(graph: Graph, settings: Settings) -> int:
    """About how many pairs an epoch hides."""
    kind, config = settings.mask.kind, settings.mask
    share = {"edge": config.p, "path": 0.5, "none": 1.0}[kind]
    if settings.encoder.structure and kind != "none":
        share = 1 / config.folds
    return max(1, round(share * graph.num_pairs))


def _feature_numbers(graph: Graph, settings: Settings) -> float:
    """Numbers that hold the features of one node."""
    own = 0.0 if settings.encoder.node_embedding else 128.0  # made from structure
    beside = settings.encoder.node_embedding
    if isinstance(graph.features, SparseFeatures):
        own = 3 * graph.features.by_row.num_entries / max(1, graph.num_nodes)
    elif graph.features is not None:
        own = graph.features.num_columns
    if graph.features is not None:
        beside += settings.encoder.structure
    return own + beside


def _different(draws: float, nodes: int) -> float:
    return nodes * -math.expm1(-draws / max(1, nodes))
