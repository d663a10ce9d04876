"""A run: a trained network with its graph, and everything that can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.settings import Settings
from maskgae.data.graph import Graph
from maskgae.data.pairs import pair_keys
from maskgae.data.splits import LinkSplit, edge_weights
from maskgae.data.structural import StructuralFeatures
from maskgae.evaluation.scorer import PairScorer, Scorer
from maskgae.io.ids import IdArray
from maskgae.nn.network import MaskGAENet
from maskgae.nn.readout import Readout
from maskgae.run.files import load_parts, save
from maskgae.run.grown import read_like, readout_like
from maskgae.run.hub import fetched, model_card, sent
from maskgae.run.links import LinkSearch, Recall, check_top
from maskgae.run.map import NodeMap, node_map
from maskgae.run.nearest import Nearest
from maskgae.run.page import run_head, write_report
from maskgae.run.source import Source, ends_of
from maskgae.run.why import Why, why
from maskgae.training.logits import logits_on
from maskgae.training.maskgae import embedded


class Embedding(NamedTuple):
    """Embeddings of nodes and what these are called, ``[N, D]`` and ``[N]``."""

    ids: IdArray
    values: NDArray[np.float32]


class Run:
    """What :func:`~maskgae.run.fit.fit` returns and what a run folder holds.

    Args:
        net: the trained network.
        source: the graph with all its edges and the features that the network reads, and what its
            user calls things.
        held_out: pairs and negative samples by the names in
            :data:`~maskgae.run.files.HELD_OUT`; empty where the training saw every edge.
        structural: what made columns from edges, in place of features or beside them.
        history: a row for each epoch.
        record: settings, metrics, heuristic baselines, audit, times.
        scorer: what scores a pair: the network alone, or combined with rules.
        readout: what turns layers and inputs into the embedding; the layers alone where ``None``.
        embedding: of every node, where it is known.
        test_scores: what :meth:`test_scores` gives, where it is known.
        stored: where to read it from; else it is computed when it is asked for.
        folder: where the run is kept, if it is.
    """

    def __init__(
        self,
        net: MaskGAENet,
        source: Source,
        *,
        held_out: Mapping[str, Tensor] | None = None,
        structural: StructuralFeatures | None = None,
        history: Sequence[Mapping[str, Any]] = (),
        record: Mapping[str, Any] | None = None,
        scorer: Scorer | None = None,
        readout: Readout | None = None,
        embedding: NDArray[np.float32] | None = None,
        test_scores: tuple[NDArray[Any], NDArray[Any]] | None = None,
        stored: Callable[[], NDArray[np.float32]] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.net, self.source, self.structural = net, source, structural
        self.held_out = dict(held_out or {})
        self.history = [dict(row) for row in history]
        self.record = dict(record or {})
        self.scorer = scorer or Scorer.bare()
        self.readout, self.folder, self._stored = readout, folder, stored
        self._test_scores = test_scores
        if embedding is not None:
            self.__dict__["embedding"] = embedding

    @property
    def graph(self) -> Graph:
        """All nodes and all edges, with the features that the network reads."""
        return self.source.graph

    @property
    def has_table(self) -> bool:
        """Whether the graph's features are its own, and not made from its edges."""
        return self.structural is None or self.graph.made is not None

    @property
    def ids(self) -> IdArray:
        """What the nodes are called, ``[N]``."""
        return self.source.ids

    @property
    def settings(self) -> Settings:
        """Every setting of the run, those that followed from the graph included."""
        return self.net.settings

    @property
    def metrics(self) -> dict[str, float]:
        """What was measured on held-out edges and, where there are labels, by a probe."""
        return {name: found["mean"] for name, found in self.record.get("metrics", {}).items()}

    @property
    def precision(self) -> list[float]:
        """What share of every node's first k links were held-out edges at the test, k from 1 on.

        Empty where nothing was held out or ranked.
        """
        return list(self.record.get("facts", {}).get("precision", ()))

    @cached_property
    def embedding(self) -> NDArray[np.float32]:
        """The embeddings of all nodes, with all edges for message passing, ``[N, D]``."""
        if self._stored is not None:
            return self._stored()
        return np.asarray(embedded(self.net, self.readout, self.graph, self.layers).cpu())

    @cached_property
    def layers(self) -> list[Tensor]:
        """Every layer's output on all edges, ``[N, width]`` each; computed once."""
        return self.net.encode(self.graph)

    @property
    def z(self) -> Tensor:
        """What the decoders read: the last layer's output, ``[N, d]``, or the embedding."""
        return self.layers[-1] if self.layers else torch.from_numpy(self.embedding)

    @cached_property
    def split(self) -> LinkSplit | None:
        """The edges that were trained on, and those that were held out, if any were."""
        if not self.held_out:
            return None
        graph, parts = self.graph, self.held_out
        val, test = (torch.isin(graph.keys, pair_keys(p, graph.num_nodes)) for p in _held(parts))
        weights, messages = edge_weights(graph, parts["val"]), None
        kept = ~val & ~test
        if graph.clock is not None:
            seen = ~test if self.settings.split.message_edges == "train_val" else kept
            messages = self._part(seen)
            kept = kept & (graph.clock.times < graph.clock.at(parts["val"]).min())
        train, (first, second) = self._part(kept), _held(parts)
        more = (parts["val_negatives"], parts["test_negatives"], weights)
        return LinkSplit(train, first, second, *more, test_messages=messages)

    def _part(self, kept: Tensor) -> Graph:
        """Some of the pairs, with features from them alone where features come from structure."""
        part = self.graph.subgraph(kept)
        made = self.structural
        if made is None:
            return part
        columns = made.transform(part)
        return part.with_features(columns) if part.made is None else part.with_made(columns)

    @cached_property
    def pair_scores(self) -> PairScorer:
        """Scores of pairs and rows with all edges for message passing."""
        return PairScorer.of(self.scorer, self.graph, logits_on(self.net, self.layers))

    def scores_on(self, messages: Graph) -> PairScorer:
        """Scores of pairs and rows with other edges of the same nodes for message passing."""
        logits = logits_on(self.net, self.net.encode(messages))
        return PairScorer.of(self.scorer, messages, logits)

    def vectors_on(self, messages: Graph) -> NDArray[np.float32]:
        """Embeddings of all nodes with other edges for message passing, ``[N, D]``."""
        layers = self.net.encode(messages)
        return np.asarray(embedded(self.net, self.readout, messages, layers).cpu())

    @cached_property
    def map(self) -> NodeMap:
        """The community of each node and its place on the map."""
        return node_map(self)

    @cached_property
    def search(self) -> LinkSearch:
        """The search for missing links, by numbers of nodes."""
        return LinkSearch(self.pair_scores, self.z, self.graph)

    def test_scores(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Probabilities of the test's edges and negative samples, as the test scored them."""
        if self._test_scores is not None or self.split is None:
            return self._test_scores
        scores = self.scores_on(self.split.messages(self.settings.split.message_edges))
        # In one list, as the test had them: the last digit of a product depends on its block.
        pairs = torch.cat([self.split.test, self.split.test_negatives], dim=1)
        chances = scores.probability(pairs).numpy()
        return chances[: self.split.test.shape[1]], chances[self.split.test.shape[1] :]

    def embed(self, other: Any = None, nodes: Any = None, **how: Any) -> Embedding:
        """Embeddings of the fitted graph, or of a new or grown one of the same kind.

        Args:
            other: anything that :func:`~maskgae.run.source.read` takes; the fitted graph where
                it is ``None``.
            nodes: a file with a table of its nodes.
            how: further arguments of :func:`~maskgae.run.source.read`, such as ``features``.
        """
        if other is None:
            return Embedding(self.ids, self.embedding)
        grown = read_like(self, other, nodes, **how)
        readout = None if self.readout is None else readout_like(self, grown)
        layers = self.net.encode(grown.graph)
        return Embedding(grown.ids, embedded(self.net, readout, grown.graph, layers).cpu().numpy())

    def links(
        self,
        top: int = 10,
        nodes: Any = None,
        incoming: bool = False,
        between: tuple[str, str] | None = None,
        index: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """The highest-scored missing links of each node, best first.

        On more than 10,000 nodes they are looked for among candidates, and :meth:`link_recall`
        tells what these miss.

        Args:
            top: links per node, at most.
            nodes: names of the nodes to ask about, or one; all of them where it is ``None``.
            incoming: of a directed graph, links to each node instead of from it.
            between: the types of the ends, first that of the source; any that edges join where it
                is ``None``.
            index: look among candidates, found by an index, of a small graph too; it needs
                ``maskgae[index]``.

        Returns:
            Columns ``source``, ``target`` and ``score``; the score is the decoder's probability,
            calibrated for as many edges as negative samples.
        """
        asked = None if nodes is None else self._numbers(nodes)
        if incoming and not self.graph.directed:
            raise InputError(
                "--in asks which way links go, and this run was fitted without --directed"
            )
        search = self.search
        if between is not None:
            narrow = self.graph.between(*between)
            asked = _of_type(narrow, asked, between[1] if incoming else between[0])
            search = LinkSearch(self.pair_scores, self.z, narrow)
        found = search.links(top, asked, incoming, index)
        return {
            "source": self.ids[found.source.numpy()],
            "target": self.ids[found.target.numpy()],
            "score": self.scorer.probability(found.score).float().numpy(),
        }

    def link_recall(
        self, top: int = 10, nodes: Any = None, incoming: bool = False, index: bool = False
    ) -> Recall | None:
        """What share of the best links the candidates of :meth:`links` hold, where it uses them.

        Measured against scoring all nodes, on a sample of this graph's nodes; the arguments are
        those of :meth:`links`.
        """
        asked = None if nodes is None else self._numbers(nodes)
        return self.search.recall(top, asked, incoming, index)

    def score(self, pairs: Any) -> NDArray[np.float32]:
        """Probabilities of given pairs of names, ``[P, 2] -> [P]``."""
        ends = ends_of(pairs)
        if not ends:
            return np.empty(0, dtype=np.float32)
        numbers = self.source.numbers(ends).reshape(-1, 2).T.copy()
        return self.pair_scores.probability(torch.from_numpy(numbers)).float().numpy()

    def similar(self, nodes: Any, top: int = 10, index: bool = False) -> dict[str, NDArray[Any]]:
        """The nodes whose embeddings point most the same way, the nearest first.

        Args:
            nodes: names of the nodes to ask about, or one.
            top: how many for each, at most.
            index: ask an index, which needs ``maskgae[index]``, even about few nodes.

        Returns:
            Columns ``source``, ``target`` and ``cosine``.
        """
        check_top(top)
        asked = self._numbers(nodes)
        table = Nearest(torch.from_numpy(self.embedding), asked.numel(), index)
        near = table.search(asked, int(top))
        return {
            "source": np.repeat(self.ids[asked.numpy()], near.nodes.shape[1]),
            "target": self.ids[near.nodes.flatten().numpy()],
            "cosine": near.cosines.flatten().numpy(),
        }

    def _numbers(self, nodes: Any) -> Tensor:
        """The numbers of some nodes by their names, or of one."""
        several = isinstance(nodes, Iterable) and not isinstance(nodes, str)
        return torch.from_numpy(self.source.numbers(nodes if several else [nodes]))

    def why(self, source: Any, target: Any) -> Why:
        """Why the link of two nodes that have none is suggested; the shares add up to its score.

        >>> from maskgae import fit
        >>> run = fit([(0, 1), (1, 2), (2, 3)], {"training.epochs": 1}, holdout=False)
        >>> [reason.kind for reason in run.why(0, 2).reasons]
        ['the network']
        """
        return why(self, source, target)

    def report(self, path: str | Path | None = None) -> Path:
        """Writes the page of the run: to a file, or into its folder."""
        return write_report(self, None if path is None else Path(path))

    def save(self, folder: str | Path) -> None:
        """Writes a run folder, in place of the run that is there."""
        save(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path) -> Run:
        """Reads a run folder that :meth:`save`, ``fit`` or ``maskgae fit`` wrote."""
        return cls(**load_parts(Path(folder)))

    def save_pretrained(
        self,
        folder: str | Path,
        *,
        repo_id: str | None = None,
        push_to_hub: bool = False,
        **how: Any,
    ) -> str | None:
        """Writes a run folder with a model card, and sends it to the Hugging Face hub if asked.

        The folder holds the graph, with the names and features of its nodes.

        Args:
            folder: where to write it.
            repo_id: its name on the hub, such as ``user/name``; that of the folder by default.
            push_to_hub: whether to send it there.
            how: ``private``, ``token``, or arguments of ``HfApi.upload_folder``.

        Returns:
            Where it is on the hub, if it was sent.
        """
        place = Path(folder)
        name = repo_id or place.name
        save(self, place, model_card(self, name))
        return sent(place, name, **how) if push_to_hub else None

    @classmethod
    def from_pretrained(cls, name: str | Path, **how: Any) -> Run:
        """Reads a run folder, or a run of that name on the Hugging Face hub.

        Args:
            name: a folder, or a repository such as ``user/name``.
            how: arguments of ``huggingface_hub.snapshot_download``, such as ``revision``.
        """
        return cls.load(fetched(name, **how))

    def _repr_html_(self) -> str:
        return run_head(self)

    def __repr__(self) -> str:
        figures = ", ".join(f"{k}={v:.3f}" for k, v in list(self.metrics.items())[:2])
        return f"Run({self.graph.name}, {self.graph.num_nodes:,} nodes{figures and ', ' + figures})"


def _of_type(graph: Graph, asked: Tensor | None, name: str) -> Tensor:
    """Those nodes of a type, or those of some that are asked for."""
    assert graph.types is not None
    nodes = torch.arange(graph.num_nodes) if asked is None else asked
    return nodes[graph.types.codes[nodes] == graph.types.names.index(name)]


def _held(parts: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    return parts["val"], parts["test"]
