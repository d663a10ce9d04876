"""The masked graph autoencoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.base.settings import Settings
from maskgae.data.features import DenseFeatures, Features
from maskgae.data.graph import Graph
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.decoders import MLP, Dot, Ends, pair_decoder
from maskgae.nn.encoder import Encoder, readout
from maskgae.nn.layerwise import filled, layer_outputs, smoothed
from maskgae.nn.losses import degree_loss, loss_of, pair_logits, pair_loss

#: Outputs of all layers, in numbers, up to which they are computed at once: 512 MiB in float32.
AT_ONCE = 2**27


@dataclass(frozen=True)
class Step:
    """What one update learns from.

    Shapes:
        - **x:** ``[n, in_channels]``, what the first layer sees
        - **adjacencies:** one per layer, the visible graph
        - **targets:** ``[2, T]``, hidden pairs
        - **negatives:** ``[2, T * k]``, negative samples: non-edges of the training graph
        - **degrees:** ``[n]``, degrees in the masked graph

    ``weight`` is what its loss counts beside other ranks', 1 where all have as many targets.
    """

    x: Features
    adjacencies: list[Adjacency]
    targets: Tensor
    negatives: Tensor
    degrees: Tensor
    weight: float = 1.0


class MaskGAENet(nn.Module):
    r"""Predicts the hidden pairs and degrees of a graph from what is visible of it.

    .. math::
        \mathcal{L} = \mathcal{L}_{pairs}(h(z_u \odot z_v)) + \alpha\, \mathcal{L}_{deg}(g(z_v)),
        \qquad Z = f(G_{vis})

    with the encoder :math:`f`, the structure decoder :math:`h` and the degree decoder :math:`g`.
    Weights are drawn from ``stream(settings.seed, "weights")`` when it is made.

    Args:
        in_channels: width of the features, 0 where there are none.
        settings: encoder, decoder and objective.
        num_nodes: needed for learnable node embeddings only.
        directed: whether a pair has a source and a target that are told apart.
        convs: the encoder's layers, such as PyG's, instead of those that the settings describe.

    >>> MaskGAENet(8).embed(Graph.from_edges([(0, 1)], features=torch.eye(2, 8))).shape
    torch.Size([2, 192])
    >>> MaskGAENet(8)(torch.eye(2, 8), torch.tensor([[0, 1], [1, 0]])).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        in_channels: int,
        settings: Settings | None = None,
        num_nodes: int = 0,
        directed: bool = False,
        convs: Sequence[nn.Module] = (),
    ) -> None:
        super().__init__()
        settings = settings or Settings()
        if convs:
            settings = settings.updated({"encoder.layers": len(convs)})
        self.settings, self.calls = settings, 0
        self.encoder = Encoder(in_channels, settings.encoder, num_nodes, convs)
        width = self.encoder.widths[-1] if self.has_layers else 0
        self.decoder = pair_decoder(width, settings.decoder) if width else Dot()
        self.ends = Ends(width) if directed and width else None
        degrees = width and settings.objective.alpha
        self.degree_decoder = MLP(width, settings.decoder) if degrees else None
        self.reset_parameters(Stream(settings.seed, ("weights",)))

    @classmethod
    def for_graph(cls, graph: Graph, settings: Settings) -> MaskGAENet:
        """A network of the right size for a graph."""
        return cls(graph.num_inputs, settings, graph.num_nodes, graph.directed)

    @property
    def has_layers(self) -> bool:
        """Whether there is anything to train; not where ``encoder.kind`` is ``none``."""
        return bool(self.encoder.widths)

    def reset_parameters(self, stream: Stream) -> None:
        """Draws all weights anew."""
        self.encoder.reset_parameters(stream.at("encoder").torch())
        self.decoder.reset_parameters(stream.at("decoder").torch())
        if self.ends is not None:
            self.ends.reset_parameters(stream.at("ends").torch())
        if self.degree_decoder is not None:
            self.degree_decoder.reset_parameters(stream.at("degree").torch())

    def check_state(self, state: Mapping[str, Tensor], what: str) -> None:
        """Refuses weights of other names, shapes or types than this network's.

        Args:
            state: the weights by name.
            what: says what does not fit, in the error.
        """
        own = {name: (tuple(v.shape), v.dtype) for name, v in self.state_dict().items()}
        given = {name: (tuple(v.shape), v.dtype) for name, v in state.items()}
        names = sorted(n for n in own.keys() | given.keys() if own.get(n) != given.get(n))
        if names:
            there, here = (found.get(names[0], "missing") for found in (given, own))
            raise InputError(
                f"{what}: {names[0]} is {there} there and {here} here; use the same settings and "
                "the same columns"
            )

    def forward(self, x: Tensor, edge_index: Tensor, stream: Stream | None = None) -> Tensor:
        """What the decoders read: the last layer's output, ``[N, in], [2, E] -> [N, d]``.

        Args:
            x: features.
            edge_index: edges in one direction or both; each counts once.
            stream: where dropout draws from; without one, the calls in training mode are counted,
                and there is no dropout otherwise.
        """
        if stream is None and self.training:
            self.calls += 1
            stream = Stream(self.settings.seed, ("forward", self.calls))
        adjacency = Adjacency.of(Graph.from_edges(edge_index.cpu(), x.shape[0])).to(x.device)
        features = self.encoder.input(DenseFeatures(x))
        outputs: list[Tensor] = self.encoder(
            features, [adjacency] * self.settings.encoder.layers, stream
        )
        return outputs[-1]

    def decode(self, z: Tensor, pairs: Tensor, stream: Stream | None = None) -> Tensor:
        """Logits of pairs with their gradient, ``[N, d], [2, P] -> [P]``; dropout by a stream."""
        rows, (u, v) = self.decoded(z), self.placed(pairs, z.shape[0])
        logits: Tensor = self.decoder(rows[u] * rows[v], stream)
        return logits

    def loss(self, step: Step, stream: Stream) -> Tensor:
        """The loss of one step; the paper's Algorithm 1 from line 4 on."""
        objective = self.settings.objective
        z = self.encoder.last(step.x, step.adjacencies, stream)
        count, rows = z.shape[0], self.decoded(z)
        targets, negatives = self.placed(step.targets, count), self.placed(step.negatives, count)
        loss = pair_loss(rows, self.decoder, targets, negatives, loss_of(objective), stream)
        if self.degree_decoder is not None:
            predicted = self.degree_decoder(z, stream.at("degree"))
            loss = loss + objective.alpha * degree_loss(predicted, step.degrees)
        return loss

    def decoded(self, z: Tensor) -> Tensor:
        """What the decoder gathers: ``z`` itself or, of a directed graph, sources and targets."""
        return z if self.ends is None else self.ends(z)

    def placed(self, pairs: Tensor, count: int) -> Tensor:
        """Where the ends of pairs stand in :meth:`decoded` rows of ``count`` nodes."""
        return pairs if self.ends is None else torch.stack([pairs[0], pairs[1] + count])

    @torch.no_grad()
    def logits(self, z: Tensor, pairs: Tensor) -> Tensor:
        """The decoder's logits of pairs, ``[N, d], [2, P] -> [P]``."""
        return pair_logits(self.decoded(z), self.decoder, self.placed(pairs, z.shape[0]))

    def input(self, graph: Graph, nodes: Tensor) -> Features:
        """What the first layer sees of some nodes, ``[n] -> [n, in_channels]``."""
        device = next(self.parameters()).device
        features = None if graph.inputs is None else graph.inputs.rows(nodes).to(device)
        return self.encoder.input(features, nodes.to(device))

    def fits(self, graph: Graph) -> bool:
        """Whether all layers' outputs on a graph are small enough to be computed at once."""
        return graph.num_nodes * sum(self.encoder.widths) <= AT_ONCE

    @torch.no_grad()
    def encode(self, graph: Graph, nodes: Tensor | None = None) -> list[Tensor]:
        """All layers' outputs without dropout, ``[N, width]`` each.

        On a graph of more than :data:`AT_ONCE` numbers they are computed in chunks of rows, with
        bounded memory, and lie in files of the temporary folder.

        Args:
            graph: whose edges are the messages.
            nodes: whose rows are wanted, ``[n]`` ascending; of all nodes where it is ``None``.
        """
        if not self.has_layers:
            return []
        embedding = self.encoder.embedding
        if embedding is not None and embedding.shape[0] != graph.num_nodes:
            raise InputError(
                f"the network has learnt embeddings of {embedding.shape[0]:,} nodes, but the graph "
                f"has {graph.num_nodes:,}: train it on this graph, or with features alone"
            )
        training, device = self.training, next(self.parameters()).device
        self.eval()
        if self.fits(graph):
            x = self.encoder.input(None if graph.inputs is None else graph.inputs.to(device))
            adjacency = Adjacency.of(graph).to(device)
            outputs = self.encoder(x, [adjacency] * self.settings.encoder.layers)
            outputs = outputs if nodes is None else [out[nodes] for out in outputs]
        else:
            encoder = self.encoder if device.type == "cpu" else deepcopy(self.encoder).cpu()
            outputs = layer_outputs(encoder, encoder.input(graph.inputs), graph, nodes)
        self.train(training)
        return outputs

    def embed(self, graph: Graph, nodes: Tensor | None = None) -> Tensor:
        """The embedding of nodes as the settings describe it, ``[N, D]``.

        Args:
            graph: whose edges are the messages.
            nodes: whose rows are wanted, ``[n]`` ascending; of all nodes where it is ``None``.
        """
        return self.readout(self.encode(graph, nodes), graph, nodes)

    def readout(
        self, outputs: Sequence[Tensor], graph: Graph, nodes: Tensor | None = None
    ) -> Tensor:
        """The embedding from what :meth:`encode` gave, ``[N, width]`` a layer to ``[N, D]``."""
        config = self.settings.embedding
        parts = list(outputs if config.layers == "all" else outputs[-1:])
        if config.propagated and graph.features is not None:
            spread = smoothed(graph, graph.features, config.propagated).to(parts[0].device)
            parts = [*parts, spread if nodes is None else spread[nodes]]
        if self.fits(graph):
            return readout(parts, config.normalize)
        return filled(
            parts[0].shape[0],
            sum(part.shape[1] for part in parts),
            lambda rows: readout([part[rows] for part in parts], config.normalize),
        )

    def score(self, graph: Graph, pairs: Tensor) -> Tensor:
        """Logits of pairs, ``[2, P] -> [P]``, with the graph's edges as messages."""
        if self.fits(graph):
            z = self.encode(graph)[-1]
            return self.logits(z, pairs.to(z.device))
        nodes, place = torch.unique(pairs, return_inverse=True)
        device = next(self.parameters()).device
        z = self.encode(graph, nodes)[-1].to(device)
        return self.logits(z, place.to(device))


class StepLoss(nn.Module):
    """The loss of a step as a module of its own, whose gradients ranks can average."""

    def __init__(self, net: MaskGAENet) -> None:
        super().__init__()
        self.net = net

    def forward(self, step: Step, stream: Stream) -> Tensor:
        return self.net.loss(step, stream)
