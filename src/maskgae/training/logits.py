"""A decoder's logits on one message graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from maskgae.nn.losses import pair_logits, row_logits
from maskgae.nn.network import MaskGAENet


@dataclass(frozen=True, eq=False)
class PairLogits:
    """A decoder's logits on one message graph, which is encoded once.

    Args:
        z: what the decoder reads, ``[N, d]``.
        decoder: maps products of two rows to logits.
        targets: of a directed graph, the row from which on nodes are targets.
    """

    z: Tensor
    decoder: nn.Module
    targets: int = 0

    @classmethod
    def of(cls, net: MaskGAENet, z: Tensor) -> PairLogits:
        """A network's logits, given the last layer's output."""
        with torch.no_grad():
            return cls(net.decoded(z), net.decoder, 0 if net.ends is None else z.shape[0])

    def pairs(self, pairs: Tensor) -> Tensor:
        """``[2, P] -> [P]``"""
        ends = pairs.to(self.z.device)
        if self.targets:
            ends = torch.stack([ends[0], ends[1] + self.targets])
        return pair_logits(self.z, self.decoder, ends)

    def rows(self, nodes: Tensor, incoming: bool = False) -> Tensor:
        """Logits of edges to all nodes, or from all nodes, ``[n] -> [n, N]``."""
        ends = nodes.to(self.z.device)
        if not self.targets:
            return row_logits(self.z, self.decoder, ends)
        others = torch.arange(self.targets, device=self.z.device)
        if incoming:
            return row_logits(self.z, self.decoder, ends + self.targets, others)
        return row_logits(self.z, self.decoder, ends, others + self.targets)


def logits_on(net: MaskGAENet, layers: Sequence[Tensor]) -> PairLogits | None:
    """A network's logits from its layers' outputs; none where it has no layers."""
    return PairLogits.of(net, layers[-1]) if layers else None
