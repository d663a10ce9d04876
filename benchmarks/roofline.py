r"""What a step must cost at least, counted from shapes.

Every operation is charged its floating-point operations, the bytes that it gathers row by row,
the bytes that it streams, and the random bytes that it draws, each at the rate that the machine
showed in the same run. One thread does one thing after another, so the times add up:

.. math::

    t = \frac{\text{flops}}{\text{GEMM}} + \frac{\text{gathered}}{\text{gather}}
      + \frac{\text{streamed}}{\text{copy}} + \frac{\text{random}}{\text{noise}}.

Inputs and outputs of an operation count once each; nothing is fused across operations. A tensor
below two mebibytes is taken to stay in the core's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data.features import SparseFeatures
from maskgae.data.graph import Graph
from maskgae.training.steps import Steps

CACHE = 2 * 2**20


@dataclass
class Work:
    """What a stage of a step does: operations, and bytes by how they are reached."""

    flops: float = 0.0
    gathered: float = 0.0
    near: float = 0.0
    streamed: float = 0.0
    cached: float = 0.0
    noise: float = 0.0

    def gather(self, rows: float, width: int, table_rows: int) -> None:
        """Rows of float32 picked from a table."""
        size = 4.0 * rows * width
        if 4 * table_rows * width > CACHE:
            self.gathered += size
        else:
            self.near += size

    def stream(self, passes: float, numbers: float) -> None:
        """Float32 numbers read or written so many times."""
        size = 4.0 * passes * numbers
        if 4 * numbers > CACHE:
            self.streamed += size
        else:
            self.cached += size

    def milliseconds(self, rates: Mapping[str, float]) -> dict[str, float]:
        """The least time of each kind of work at the given rates."""
        return {
            "arithmetic": self.flops / rates["gflops"] / 1e6,
            "gathers": (self.gathered / rates["gather_gbs"] + self.near / rates["near_gbs"]) / 1e6,
            "streams": (self.streamed / rates["copy_gbs"] + self.cached / rates["cached_gbs"])
            / 1e6,
            "noise": self.noise / rates["noise_gbs"] / 1e6,
        }


def count_step(graph: Graph, settings: Settings) -> dict[str, Work]:
    """The work of one step of ours, by stage, for a mask that is really drawn."""
    masked = Steps(graph, settings, stream(0, "roofline")).mask(0)
    entries = 2 * int(masked.visible.sum())
    work = {"encoder forward": Work(), "backward": Work()}
    for level, (inputs, outputs) in enumerate(_widths(graph, settings)):
        both = work["encoder forward"], work["backward"]
        width = outputs
        if level == 0 and isinstance(graph.features, SparseFeatures):
            kept = (1 - settings.encoder.dropout) * graph.features.by_row.num_entries
            both[0].noise += graph.features.by_row.num_entries
            both[0].gather(kept, outputs, inputs)
            both[1].gather(kept, outputs, graph.num_nodes)
        else:
            _dense_input(*both, graph.num_nodes, inputs, outputs, level > 0)
            width = min(inputs, outputs)
        _propagate(*both, graph.num_nodes, entries, width, level > 0 or width == outputs)
        # Batch norm reads twice and writes, ELU reads and writes; backward reads twice as much.
        both[0].stream(5, graph.num_nodes * outputs)
        both[1].stream(8, graph.num_nodes * outputs)
    work["decoder and loss"] = _decoder(graph, settings, masked.targets.numel())
    return work


def _widths(graph: Graph, settings: Settings) -> Iterator[tuple[int, int]]:
    assert graph.features is not None
    width, config = graph.features.num_columns, settings.encoder
    for level in range(config.layers):
        outputs = config.dim if level == config.layers - 1 else config.hidden
        yield width, outputs
        width = outputs


def _dense_input(
    forward: Work, backward: Work, nodes: int, inputs: int, outputs: int, needs_gradient: bool
) -> None:
    """Dropout and the product with the weights."""
    forward.noise += nodes * inputs
    forward.stream(2, nodes * inputs)
    forward.stream(1, nodes * inputs)
    forward.stream(1, nodes * outputs)
    forward.flops += 2.0 * nodes * inputs * outputs
    backward.stream(1, nodes * (inputs + outputs))
    backward.flops += 2.0 * nodes * inputs * outputs
    if needs_gradient:
        backward.stream(3, nodes * inputs)
        backward.flops += 2.0 * nodes * inputs * outputs


def _propagate(
    forward: Work, backward: Work, nodes: int, entries: int, width: int, needs_gradient: bool
) -> None:
    """The normalised product: scale, sum over neighbours, add the node itself, scale."""
    for part in (forward, backward) if needs_gradient else (forward,):
        part.gather(entries, width, nodes)
        part.stream(7, nodes * width)


def _decoder(graph: Graph, settings: Settings, targets: int) -> Work:
    """Gathers, products, the network both ways, and the gradient added back to the nodes."""
    pairs, width, hidden = 2 * targets, settings.encoder.dim, settings.decoder.hidden
    work = Work(noise=pairs * width, flops=3 * 2.0 * pairs * width * hidden)
    # Two rows are read; later two are read again and written.
    work.gather(6 * pairs, width, graph.num_nodes)
    # Chunks stay in cache: the product, dropout both ways, the two gradients.
    work.cached += 4.0 * pairs * width * (3 + 2 + 2 + 6)
    work.cached += 4.0 * pairs * hidden * 8
    return work
