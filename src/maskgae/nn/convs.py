r"""Graph convolutions on an :class:`~maskgae.nn.adjacency.Adjacency`.

With :math:`x_i` the input of node :math:`i`, :math:`N_i` its visible neighbours and :math:`d_i`
their number:

=====  ====================================================================================
GCN    :math:`\sum_{j \in N_i \cup i} \frac{1}{\sqrt{(d_i + 1)(d_j + 1)}} x_j W + b`
SAGE   :math:`\mathrm{mean}_{j \in N_i}\, x_j W_n + x_i W_r + b`
GAT    :math:`\sum_{j \in N_i \cup i} \alpha_{ij} x_j W + b`,
       :math:`\alpha_{ij} = \mathrm{softmax}_j\, \mathrm{LeakyReLU}(a_d^\top W^\top x_i
       + a_s^\top W^\top x_j)`
=====  ====================================================================================

Each is linear in :math:`x` before it aggregates, so :math:`A (X W) = (A X) W` and the narrower
side is the one that travels along the edges. Attention takes no edge weights.

A convolution has two halves: ``send`` works on each source alone, ``combine`` sums up along the
edges. The two together are its forward pass; apart, each can be run for some rows at a time.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from maskgae.data.features import Features
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.attention import attend
from maskgae.nn.linear import Linear, glorot

NEGATIVE_SLOPE = 0.2


class Conv(nn.Module):
    """One graph convolution.

    Args:
        in_channels: width of the input.
        out_channels: width of the output; of each head, for attention.
        heads: attention heads, concatenated; 1 elsewhere.
        bias: whether :math:`b` is added at the end.

    Shapes:
        - **input:** ``[n_src, in_channels]`` features, ``[n_dst, n_src]`` adjacency
        - **output:** ``[n_dst, heads * out_channels]``
    """

    #: Whether edge weights change what the layer computes.
    uses_weights = True

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, bias: bool = True
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.heads = in_channels, out_channels, heads
        self.bias = nn.Parameter(torch.zeros(heads * out_channels)) if bias else None

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draws all weights anew; layers with more than linear maps draw the rest themselves."""
        for part in self.children():
            part.reset_parameters(generator)  # type: ignore[operator]
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def forward(self, x: Features, adjacency: Adjacency) -> Tensor:
        return self.combine(self.send(x), adjacency)

    def multiplies(self, x: Features) -> bool:
        """Whether the rows are multiplied by weights before they travel."""
        return not x.message_width < self.out_channels

    def send(self, x: Features) -> Tensor:
        """What travels along the edges: the rows themselves or their products, ``[n_src, d]``."""
        return x.linear(self.sent_weight()) if self.multiplies(x) else x.dense()

    def sent_weight(self) -> Tensor:
        """The weights of :meth:`send`, ``[in_channels, d]``."""
        raise NotImplementedError

    def combine(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        """The output of the destinations from what the sources sent."""
        out = self.aggregate(sent, adjacency)
        return out if self.bias is None else out.add_(self.bias)

    def aggregate(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        """The output without its bias, in memory of its own."""
        raise NotImplementedError

    def _is_raw(self, sent: Tensor) -> bool:
        """Whether the rows came unmultiplied: only what is narrower than the output does."""
        return sent.shape[1] < self.out_channels

    def __repr__(self) -> str:
        heads = f", heads={self.heads}" if self.heads > 1 else ""
        return f"{type(self).__name__}({self.in_channels}, {self.out_channels}{heads})"


class GCNConv(Conv):
    """Kipf and Welling's graph convolution (ICLR 2017)."""

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, bias: bool = True
    ) -> None:
        super().__init__(in_channels, out_channels, bias=bias)
        self.lin = Linear(in_channels, out_channels, bias=False)

    def forward(self, x: Features, adjacency: Adjacency) -> Tensor:
        # Of a block whose destinations are few, these are what is multiplied.
        if 2 * adjacency.num_dst < adjacency.num_src and math.isfinite(x.message_width):
            out: Tensor = self.lin(x.around(adjacency))
            return out if self.bias is None else out.add_(self.bias)
        return super().forward(x, adjacency)

    def sent_weight(self) -> Tensor:
        return self.lin.weight

    def aggregate(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        around = adjacency.normalized(sent)
        return self.lin(around) if self._is_raw(sent) else around


class SAGEConv(Conv):
    """Hamilton, Ying and Leskovec's mean aggregator (NeurIPS 2017)."""

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, bias: bool = True
    ) -> None:
        super().__init__(in_channels, out_channels, bias=bias)
        self.neighbours = Linear(in_channels, out_channels, bias=False)
        self.root = Linear(in_channels, out_channels, bias=False)

    def sent_weight(self) -> Tensor:
        return torch.cat([self.neighbours.weight, self.root.weight], dim=1)

    def aggregate(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        if self._is_raw(sent):
            around = self.neighbours(adjacency.mean(sent))
            return around + self.root(sent[: adjacency.num_dst])
        around, own = sent.split(self.out_channels, dim=1)
        return adjacency.mean(around) + own[: adjacency.num_dst]


class GATConv(Conv):
    """Veličković et al.'s attention (ICLR 2018)."""

    uses_weights = False

    def __init__(
        self, in_channels: int, out_channels: int, heads: int = 1, bias: bool = True
    ) -> None:
        super().__init__(in_channels, out_channels, heads, bias)
        self.lin = Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = nn.Parameter(torch.zeros(heads, out_channels))
        self.att_dst = nn.Parameter(torch.zeros(heads, out_channels))

    def reset_parameters(self, generator: torch.Generator) -> None:
        super().reset_parameters(generator)
        glorot(self.att_src, generator)
        glorot(self.att_dst, generator)

    def multiplies(self, x: Features) -> bool:
        return True

    def sent_weight(self) -> Tensor:
        return self.lin.weight

    def aggregate(self, sent: Tensor, adjacency: Adjacency) -> Tensor:
        vectors = torch.stack([self.att_src, self.att_dst], dim=-1)
        # [n_src, heads * d] @ [heads * d, heads * 2]: one way through what was sent
        logits = (sent @ torch.block_diag(*vectors)).view(-1, self.heads, 2)
        src, dst = logits[..., 0], logits[: adjacency.num_dst, :, 1]
        joined = adjacency.sources(src) + adjacency.destinations(dst)
        entries = F.leaky_relu(joined, NEGATIVE_SLOPE)
        own = F.leaky_relu(src[: adjacency.num_dst] + dst, NEGATIVE_SLOPE)
        return attend(sent.view(-1, self.heads, self.out_channels), entries, own, adjacency)


CONVS: dict[str, type[Conv]] = {
    "gcn": GCNConv,
    "sage": SAGEConv,
    "gat": GATConv,
}
