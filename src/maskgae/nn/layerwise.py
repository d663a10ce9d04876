r"""The encoder on graphs whose layers' outputs do not fit in memory: layer by layer, rows by rows.

A layer is computed for all rows that need it before the next one begins, so nothing is computed
twice. It takes two sweeps: every source sends (:meth:`~maskgae.nn.convs.Conv.send`); then every
chunk of destinations gathers what its neighbours sent into a small matrix of its own and combines
it. Both work on some :data:`SWEEP_NUMBERS` numbers at a time, and what they fill lies in a file of
the temporary folder where it is large. So the memory that a process holds does not grow with the
graph, but for a few numbers per node.

Dropout is off; the outputs equal those of :class:`~maskgae.nn.encoder.Encoder` up to the order in
which a product adds.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from maskgae.base.sizes import spans
from maskgae.data.csr import CSR, positions
from maskgae.data.features import DenseFeatures, Features
from maskgae.data.graph import Graph
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.encoder import Encoder

#: Numbers that one chunk gathers, 256 MiB in float32.
SWEEP_NUMBERS = 2**26
#: A matrix of more numbers than this, 1 GiB in float32, lies in a file.
IN_MEMORY = 2**28


@torch.no_grad()
def layer_outputs(
    encoder: Encoder, x: Features, graph: Graph, nodes: Tensor | None = None
) -> list[Tensor]:
    """All layers' outputs, of all nodes or of some.

    Args:
        encoder: on the CPU, in evaluation mode.
        x: what the first layer sees.
        graph: whose edges are the messages.
        nodes: whose outputs are wanted; only what they depend on is computed.

    Shapes:
        - **x:** ``[N, in_channels]``
        - **nodes:** ``[n]``, ascending, each once
        - **output:** one tensor a layer, ``[N, width]``, or ``[n, width]``
    """
    blocks = _Blocks(Adjacency.of(graph))
    levels = blocks.levels(nodes, len(encoder.convs))
    outputs = []
    for level, (sources, targets) in enumerate(pairwise(levels)):
        out = _convolved(encoder, level, x, blocks, sources, targets)
        _finish(encoder, level, out)
        outputs.append(out if nodes is None else out[_places(targets, nodes)])
        x = DenseFeatures(out)
    return outputs


@torch.no_grad()
def convolved_layers(encoder: Encoder, x: Features, graph: Graph) -> Iterator[Tensor]:
    """Each layer's convolution of all nodes before it is normalised, ``[N, width]``.

    The next layer is computed from what the normalisation makes of it when it is asked for, so
    that whoever asks may set the normalisation first.
    """
    blocks = _Blocks(Adjacency.of(graph))
    for level in range(len(encoder.convs)):
        out = _convolved(encoder, level, x, blocks, None, None)
        yield out
        _finish(encoder, level, out)
        x = DenseFeatures(out)


@torch.no_grad()
def smoothed(graph: Graph, x: Features, hops: int) -> Tensor:
    r"""Features spread over the graph, :math:`(\hat D^{-1/2} \hat A \hat D^{-1/2})^k X`."""
    blocks = _Blocks(Adjacency.of(graph))
    for _ in range(hops):
        out = blocks.sweep(None, x.shape, x.num_columns, partial(_spread, x))
        x = DenseFeatures(out)
    return x.dense()


def spread(graph: Graph, x: Tensor, steps: int, stays: float) -> Tensor:
    r"""Rows spread by personalised PageRank, :math:`X' \leftarrow (1 - a) \hat S X' + a X`."""
    found = x
    for _ in range(steps):
        found = smoothed(graph, DenseFeatures(found), 1).mul_(1 - stays).add_(x, alpha=stays)
    return found


def scratch(rows: int, columns: int) -> Tensor:
    """A matrix to fill, in a nameless file of the temporary folder where it is large."""
    if rows * columns <= IN_MEMORY:
        return torch.empty(rows, columns)
    with tempfile.TemporaryFile(prefix="maskgae-") as file:
        return torch.from_numpy(np.memmap(file, np.float32, "w+", shape=(rows, columns)))


def filled(rows: int, columns: int, part: Callable[[slice], Tensor]) -> Tensor:
    """A matrix whose rows are computed some at a time."""
    out, step = scratch(rows, columns), max(1, SWEEP_NUMBERS // columns)
    for start in range(0, rows, step):
        chunk = slice(start, min(start + step, rows))
        out[chunk] = part(chunk)
    return out


def _convolved(
    encoder: Encoder,
    level: int,
    x: Features,
    blocks: _Blocks,
    sources: Tensor | None,
    targets: Tensor | None,
) -> Tensor:
    """A layer's convolution for all its targets, ``None`` for all nodes."""
    conv: Any = encoder.convs[level]
    sent, numbered = _sent(encoder, level, x, sources)
    count = blocks.whole.num_src if targets is None else targets.numel()

    def combine(adjacency: Adjacency, needed: Tensor) -> Tensor:
        mixed: Tensor = conv.combine(sent[_places(numbered, needed)], adjacency)
        return mixed

    return blocks.sweep(targets, (count, encoder.widths[level]), sent.shape[1], combine)


def _finish(encoder: Encoder, level: int, out: Tensor) -> None:
    """Normalises and activates a layer's output where it lies."""
    for part in out.split(max(1, SWEEP_NUMBERS // out.shape[1])):
        part.copy_(encoder.finish(level, part.clone()))


def _spread(x: Features, adjacency: Adjacency, sources: Tensor) -> Tensor:
    return adjacency.normalized(x.rows(sources).dense())


def _sent(
    encoder: Encoder, level: int, x: Features, sources: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """What the sources send, and which nodes its rows are; ``None`` for all."""
    conv: Any = encoder.convs[level]
    # The features have a row for each node, later layers' inputs one for each source.
    rows = sources if level == 0 else None
    if not conv.multiplies(x):
        return x.dense(), None if level == 0 else sources
    count = x.num_rows if rows is None else rows.numel()

    def part(chunk: slice) -> Tensor:
        index = torch.arange(chunk.start, chunk.stop) if rows is None else rows[chunk]
        product: Tensor = conv.send(x.rows(index))
        return product

    return filled(count, conv.sent_weight().shape[1], part), sources


class _Blocks:
    """Cuts chunks of rows out of a graph, each with only the sources it needs."""

    def __init__(self, whole: Adjacency) -> None:
        self.whole = whole
        self.seen = torch.zeros(whole.num_src, dtype=torch.bool)
        self.place = torch.empty(whole.num_src, dtype=torch.long)

    def levels(self, nodes: Tensor | None, layers: int) -> list[Tensor | None]:
        """The nodes whose rows each layer needs, from the features on; ``None`` for all."""
        found = [nodes]
        for _ in range(layers):
            found.append(self._with_neighbours(found[-1]))
        return found[::-1]

    def _with_neighbours(self, nodes: Tensor | None) -> Tensor | None:
        if nodes is None:
            return None
        seen = torch.zeros_like(self.seen)
        seen[nodes] = True
        for part in self.chunks(nodes, SWEEP_NUMBERS // 8):
            seen[self.whole.csr.rows(part).indices] = True
        return None if seen.all() else positions(seen)

    def chunks(self, nodes: Tensor | None, budget: int) -> Iterator[Tensor]:
        """The nodes in parts of about ``budget`` rows and entries, and of one row at least."""
        counts = self.whole.csr.counts()
        rows = (counts if nodes is None else counts[nodes]) + 1
        for part in spans(rows.numpy(), budget):
            yield torch.arange(part.start, part.stop) if nodes is None else nodes[part]

    def sweep(
        self,
        targets: Tensor | None,
        shape: tuple[int, int],
        sent_width: int,
        combine: Callable[[Adjacency, Tensor], Tensor],
    ) -> Tensor:
        """A matrix of the targets' rows, from each chunk's adjacency and its sources."""
        out, done = scratch(*shape), 0
        for part in self.chunks(targets, SWEEP_NUMBERS // max(sent_width, shape[1])):
            out[done : done + part.numel()] = combine(*self.cut(part))
            done += part.numel()
        return out

    def cut(self, nodes: Tensor) -> tuple[Adjacency, Tensor]:
        """The adjacency of some destinations, and its sources: the destinations come first."""
        csr = self.whole.csr.rows(nodes)
        self.seen[csr.indices] = True
        self.seen[nodes] = False
        others = positions(self.seen)
        self.seen[others] = False
        sources = torch.cat([nodes, others])
        self.place[sources] = torch.arange(sources.numel())
        local = CSR(csr.indptr, self.place[csr.indices], sources.numel(), csr.values)
        return Adjacency(local, self.whole.degrees[sources]), sources


def _places(numbered: Tensor | None, nodes: Tensor) -> Tensor:
    """The rows of nodes in a matrix that has a row for each of the ascending numbered ones."""
    return nodes if numbered is None else torch.searchsorted(numbered, nodes)
