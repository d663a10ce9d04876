"""Scores of the held-out pairs during a training run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.splits import joined
from maskgae.evaluation.hard import hard_metrics
from maskgae.evaluation.method import Validation
from maskgae.evaluation.ranking import left_out_flags, mean_ranks
from maskgae.nn.blocks import Sampler
from maskgae.nn.losses import pair_logits, row_logits
from maskgae.nn.network import MaskGAENet
from maskgae.training.logits import PairLogits
from maskgae.training.parallel import Ranks
from maskgae.training.steps import ALONE, fanouts_by_hop

#: Held-out pairs, and as many negative samples, that are scored by blocks. The standard error of
#: an AUC around 0.9 from so many is 0.0015.
MOST_PAIRS = 2**14
#: Neighbours of a node that scoring by blocks sees per hop, at the least. Training may sample
#: fewer; the test sees all, and with three a validation AUC lay four points lower.
SEEN = 25
#: Pairs whose blocks are cut together.
PAIRS_A_BLOCK = 2**13
#: Ends that ask for their partner where an epoch is selected by rank: those of 150 pairs.
ASKED_ENDS = 300
#: Nodes that they are ranked among, all up to so many: a validation then costs about an update.
CANDIDATES = 2**12
#: Ways to select an epoch by ranks.
BY_RANK = ("val_rank", "val_hard")


class HeldOut:
    """The edges on which a training run is stopped.

    Where the training sees the whole graph they are all scored on the whole graph. Where it sees
    blocks, a fixed sample of them is, with :data:`SEEN` neighbours sampled per hop, or as many as
    in training, and the same ones every time, so that one validation can be compared with the next.

    Args:
        graph: the training graph, whose edges are the message-passing edges unless the
            validation brings its own.
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
        graph = validation.messages or graph
        self.graph, self.ranks = graph, ranks
        hops = fanouts_by_hop(settings)
        self.fanouts = tuple(many if many < 0 else max(many, SEEN) for many in hops)
        self.stream = stream.at("held_out")
        pairs, negatives = validation.pairs, validation.negatives
        if self.fanouts:
            pairs, negatives = self._some(pairs, "pairs"), self._some(negatives, "negatives")
        self.pairs, self.count = torch.cat([pairs, negatives], dim=1), pairs.shape[1]
        self.queries: Queries | None = None
        if settings.training.select == "val_rank":
            self.queries = Queries.of(graph, validation, self.stream.at("rank"))
        self.hard, self.own = validation.hard, validation.pairs
        if settings.training.select == "val_hard" and self.hard is None:
            raise InputError("training.select=val_hard needs a Validation with hard negatives")
        if self.hard is not None and self.fanouts:
            most = max(1, MOST_PAIRS // self.hard.shape[2])
            places = _sampled(self.own.shape[1], most, self.stream.at("hard"))
            self.hard, self.own = self.hard[:, places], self.own[:, places]

    @cached_property
    def sampler(self) -> Sampler:
        return Sampler(self.graph)

    def logits(self, net: MaskGAENet) -> tuple[Tensor, Tensor]:
        """Logits of the pairs and of the negative samples."""
        logits = self._scored(net, self.pairs)
        return logits[: self.count], logits[self.count :]

    def _scored(self, net: MaskGAENet, pairs: Tensor) -> Tensor:
        own = self.ranks.share(pairs)
        self.ranks.align(net)
        logits = self._by_blocks(net, own) if self.fanouts else net.score(self.graph, own)
        return self.ranks.joined(logits, pairs.shape[1]).cpu()

    def _some(self, pairs: Tensor, name: str) -> Tensor:
        if pairs.shape[1] <= MOST_PAIRS:
            return pairs
        generator = self.stream.at(name).torch()
        return pairs[:, torch.randperm(pairs.shape[1], generator=generator)[:MOST_PAIRS]]

    def mrr(self, net: MaskGAENet) -> float:
        """What an epoch is selected by where the settings name a rank."""
        return self.rank_mrr(net) if self.queries is not None else self.hard_mrr(net)

    def hard_mrr(self, net: MaskGAENet) -> float:
        """The mean of 1 / rank of held-out pairs among their hard negatives."""
        assert self.hard is not None
        count, width = self.own.shape[1], self.hard.shape[2]
        logits = self._scored(net, torch.cat([self.own, self.hard.reshape(2, -1)], dim=1))
        others = logits[count:].view(count, width)
        return hard_metrics(logits[:count].numpy(), others.numpy())["hard_mrr"]

    def rank_mrr(self, net: MaskGAENet) -> float:
        """The mean of 1 / rank of held-out partners among all nodes, or a sample of them."""
        queries = self.queries
        assert queries is not None
        self.ranks.align(net)
        if self.fanouts:
            wanted = torch.cat([queries.asked.flatten(), queries.candidates])
            seeds, local = self.sampler.seeds(wanted)
            z = self._vectors(net, seeds, self.stream.at("rank"))
            asked, candidates = local.split([2 * queries.count, queries.candidates.numel()])
            asked = asked.view(2, -1)
        else:
            z, asked, candidates = net.encode(self.graph)[-1], queries.asked, queries.candidates
        own = self.ranks.share(asked).to(z.device)
        incoming = self.ranks.share(queries.incoming).to(z.device)
        found, others = _asked_logits(net, z, own, candidates.to(z.device), incoming)
        others[self.ranks.share(queries.left_out.T).T.to(z.device)] = torch.nan
        inverse = 1 / mean_ranks(found, others)
        return float(self.ranks.joined(inverse, queries.count).mean())

    @torch.no_grad()
    def _by_blocks(self, net: MaskGAENet, own: Tensor) -> Tensor:
        device, parts = next(net.parameters()).device, []
        for number, pairs in enumerate(own.split(PAIRS_A_BLOCK, dim=1)):
            seeds, local = self.sampler.seeds(pairs)
            z = self._vectors(net, seeds, self.stream.at("blocks", number))
            parts.append(net.logits(z, local.to(device)))
        return torch.cat(parts) if parts else torch.empty(0, device=device)

    @torch.no_grad()
    def _vectors(self, net: MaskGAENet, seeds: Tensor, stream: Stream) -> Tensor:
        """The last layer of some nodes by blocks, without dropout, ``[n] -> [n, d]``."""
        training, device = net.training, next(net.parameters()).device
        net.eval()
        blocks = self.sampler.blocks(seeds, self.fanouts, stream)
        adjacencies = [adjacency.to(device) for adjacency in blocks.adjacencies]
        z: Tensor = net.encoder(net.input(self.graph, blocks.nodes), adjacencies)[-1]
        net.train(training)
        return z


@dataclass(frozen=True, eq=False)
class Queries:
    """Which ends ask for which partner, among which nodes, the same at every validation.

    Shapes:
        - **asked:** ``[2, Q]``, the end that asks and the partner
        - **candidates:** ``[C]``
        - **left_out:** ``[Q, C]`` bool: the end itself, its partner and its known neighbours
        - **incoming:** ``[Q]`` bool, whether the partner is the source of a directed edge
    """

    asked: Tensor
    candidates: Tensor
    left_out: Tensor
    incoming: Tensor

    @classmethod
    def of(cls, graph: Graph, validation: Validation, stream: Stream) -> Queries:
        """A fixed sample of the ends of validation pairs, and of the nodes."""
        both = torch.cat([validation.pairs, validation.pairs.flip(0)], dim=1)
        places = _sampled(both.shape[1], ASKED_ENDS, stream.at("ends"))
        asked = both[:, places]
        incoming = (places >= validation.pairs.shape[1]) & graph.directed
        candidates = _sampled(graph.num_nodes, CANDIDATES, stream.at("candidates"))
        known = joined(graph, validation.pairs, None)
        flags = left_out_flags(known, asked, candidates, incoming)
        return cls(asked, candidates, flags, incoming)

    @property
    def count(self) -> int:
        return self.asked.shape[1]


def _asked_logits(
    net: MaskGAENet, z: Tensor, asked: Tensor, candidates: Tensor, incoming: Tensor
) -> tuple[Tensor, Tensor]:
    """Logits of partners and of all candidates, ``[2, Q], [C] -> [Q], [Q, C]``."""
    if net.ends is None:
        found = pair_logits(z, net.decoder, asked)
        return found, row_logits(z, net.decoder, asked[0], candidates)
    logits, count = PairLogits.of(net, z), z.shape[0]
    found = logits.pairs(torch.where(incoming, asked.flip(0), asked))
    others = found.new_empty(asked.shape[1], candidates.numel())
    for way in (False, True):
        ends, columns = asked[0, incoming == way], candidates
        own = (ends + count, columns) if way else (ends, columns + count)
        others[incoming == way] = row_logits(logits.z, net.decoder, *own)
    return found, others


def _sampled(count: int, most: int, stream: Stream) -> Tensor:
    """All of ``count`` places, or ``most`` of them at random, ascending."""
    if count <= most:
        return torch.arange(count)
    return torch.randperm(count, generator=stream.torch())[:most].sort().values
