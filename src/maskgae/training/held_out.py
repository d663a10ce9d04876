"""Scores of the held-out pairs during a training run."""

from __future__ import annotations

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.evaluation.method import Validation
from maskgae.nn.blocks import Sampler
from maskgae.nn.losses import pair_logits
from maskgae.nn.network import MaskGAENet
from maskgae.training.parallel import Ranks
from maskgae.training.steps import ALONE, fanouts_by_hop

#: Held-out pairs, and as many negative samples, that are scored by blocks. The standard error of
#: an AUC around 0.9 from so many is 0.001.
MOST_PAIRS = 2**15
#: Pairs whose blocks are cut together.
PAIRS_A_BLOCK = 2**13


class HeldOut:
    """The edges on which a training run is stopped.

    Where the training sees the whole graph they are all scored on the whole graph. Where it sees
    blocks, a fixed sample of them is, with as many neighbours sampled per hop as in training and
    the same ones every time, so that one validation can be compared with the next.

    Args:
        graph: the training graph, whose edges are the message-passing edges.
        validation: the pairs.
        settings: how many neighbours are sampled per hop, if not all.
        stream: the root of the run's randomness.
        ranks: who shares the scoring; all get all logits.
    """

    def __init__(
        self,
        graph: Graph,
        validation: Validation,
        settings: Settings,
        stream: Stream,
        ranks: Ranks = ALONE,
    ) -> None:
        self.graph, self.fanouts, self.ranks = graph, fanouts_by_hop(settings), ranks
        self.stream = stream.at("held_out")
        pairs, negatives = validation.pairs, validation.negatives
        if self.fanouts:
            pairs, negatives = self._some(pairs, "pairs"), self._some(negatives, "negatives")
        self.pairs, self.count = torch.cat([pairs, negatives], dim=1), pairs.shape[1]

    def logits(self, net: MaskGAENet) -> tuple[Tensor, Tensor]:
        """Logits of the pairs and of the negative samples."""
        own = self.ranks.share(self.pairs)
        self.ranks.align(net)
        logits = self._by_blocks(net, own) if self.fanouts else net.score(self.graph, own)
        logits = self.ranks.joined(logits, self.pairs.shape[1])
        return logits[: self.count].cpu(), logits[self.count :].cpu()

    def _some(self, pairs: Tensor, name: str) -> Tensor:
        if pairs.shape[1] <= MOST_PAIRS:
            return pairs
        generator = self.stream.at(name).torch()
        return pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:MOST_PAIRS]]

    @torch.no_grad()
    def _by_blocks(self, net: MaskGAENet, own: Tensor) -> Tensor:
        training, device = net.training, next(net.parameters()).device
        net.eval()
        sampler, parts = Sampler(self.graph), []
        for number, pairs in enumerate(own.split(PAIRS_A_BLOCK, dim=1)):
            seeds, local = sampler.seeds(pairs)
            blocks = sampler.blocks(seeds, self.fanouts, self.stream.at("blocks", number))
            adjacencies = [adjacency.to(device) for adjacency in blocks.adjacencies]
            z = net.encoder(net.input(self.graph, blocks.nodes), adjacencies)[-1]
            parts.append(pair_logits(z, net.decoder, local.to(device)))
        net.train(training)
        return torch.cat(parts) if parts else torch.empty(0, device=device)
