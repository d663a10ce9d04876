r"""GRACE: each node of one random view of the graph is found among all nodes of two.

A view drops edges with chance :math:`p_e` and columns of features with chance :math:`p_f`. With
:math:`u, v` the projections :math:`g(f(X, A))` of two views, :math:`f` two graph convolutions with
an activation after both, :math:`g` a :class:`~maskgae.lab.methods.contrast.Projector` and
:math:`\theta` the cosine,

.. math::
    l(u_i, v_i) &= -\log \frac{e^{\theta(u_i, v_i) / \tau}}{\sum_k e^{\theta(u_i, v_k) / \tau}
    + \sum_{k \ne i} e^{\theta(u_i, u_k) / \tau}} \\
    L &= \frac{1}{2N} \sum_i l(u_i, v_i) + l(v_i, u_i).

The embedding is :math:`f` on the whole graph. Zhu et al., ICML workshop 2020: settings of Cora,
CiteSeer and PubMed are theirs, for labels drawn at random; those of Photo and Computers are GCA's,
those of arXiv PyGCL's, which Collab and MAG take too.

==============================  ============================  ==================================
\                               published code                here
==============================  ============================  ==================================
:math:`N^2` logits              all of them                   all pairs of ``sample`` nodes drawn
                                                              anew each update; all nodes where
                                                              there are no more (Cora, CiteSeer)
epochs                          1,500 on PubMed, 2,000 on     800 and 1,000: within half an
                                Photo and Computers           hour on one thread
rate of Photo                   0.1                           0.01: at 0.1 all projections become
                                                              alike in the second update
``rrelu``                       not in training mode          the same: a slope of 11/48
layers on arXiv                 three                         two
==============================  ============================  ==================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures, Features
from maskgae.lab.methods.augment import drop_edges, mask_columns, sample_nodes
from maskgae.lab.methods.contrast import Projector, nt_xent
from maskgae.lab.methods.layers import View, around
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.activations import PReLU
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.convs import GCNConv

#: A chance for all edges or columns, or one for each.
Chance = float | Tensor

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "prelu": PReLU,
    "rrelu": lambda: nn.LeakyReLU(11 / 48),
    "elu": nn.ELU,
}


@dataclass(frozen=True)
class GraceConfig:
    """The published settings of Cora."""

    dim: int = setting(128, "width of the embedding; the first layer has twice as much", low=1)
    projection: int = setting(128, "width between the two layers of the projector", low=1)
    activation: str = setting(
        "relu", "after both convolutions", choices=("relu", "prelu", "rrelu", "elu")
    )
    edges_1: float = setting(0.2, "chance of an edge to be dropped from view 1", low=0, high=1)
    edges_2: float = setting(0.4, "chance of an edge to be dropped from view 2", low=0, high=1)
    columns_1: float = setting(0.3, "chance of a feature to be masked in view 1", low=0, high=1)
    columns_2: float = setting(0.4, "chance of a feature to be masked in view 2", low=0, high=1)
    tau: float = setting(0.4, "temperature of the softmax", low=0, open_ends=True)
    sample: int = setting(
        4096, "nodes contrasted in an update, all where there are no more; 0: all", low=0
    )
    epochs: int = setting(200, "updates", low=1)
    patience: int = setting(
        0, "stop after this many updates without a smaller loss; 0: never", low=0
    )
    lr: float = setting(5e-4, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(1e-5, "weight decay of Adam", low=0)


class Grace(Pretext):
    """Two graph convolutions, a projector, and two views of the graph for each update."""

    def __init__(self, in_channels: int, config: GraceConfig) -> None:
        super().__init__()
        self.first = GCNConv(in_channels, 2 * config.dim)
        self.second = GCNConv(2 * config.dim, config.dim)
        self.activation = ACTIVATIONS[config.activation]()
        self.projector = Projector(config.dim, config.projection, config.dim)
        self.tau, self.sample = config.tau, config.sample
        self.chances: list[tuple[Chance, Chance]] = [
            (config.edges_1, config.columns_1),
            (config.edges_2, config.columns_2),
        ]

    def encode(self, view: View) -> Tensor:
        return self._layers(view.x, view.adjacency, view.adjacency)

    def loss(self, view: View, stream: Stream) -> Tensor:
        nodes = sample_nodes(view.x.num_rows, self.sample, stream.at("nodes"))
        u, v = (
            self.projector(self._some(self.augmented(view, number, stream), nodes))
            for number in range(2)
        )
        return nt_xent(u, v, self.tau)

    def _some(self, view: View, nodes: Tensor) -> Tensor:
        """The embedding of some nodes, from what lies within two steps of them."""
        if nodes.numel() == view.x.num_rows:
            return self.encode(view)
        x, (first, second) = around(view, nodes.to(view.adjacency.degrees.device), 2)
        return self._layers(x, first, second)

    def _layers(self, x: Features, first: Adjacency, second: Adjacency) -> Tensor:
        hidden = self.activation(self.first(x, first))
        h: Tensor = self.activation(self.second(DenseFeatures(hidden), second))
        return h

    def augmented(self, view: View, number: int, stream: Stream) -> View:
        """One of the two views."""
        edges, columns = self.chances[number]
        return View(
            mask_columns(view.x, columns, stream.at("columns", number)),
            drop_edges(view.adjacency, edges, stream.at("edges", number)),
        )


#: Those of PyGCL for arXiv, whose network has three layers.
LARGE: Mapping[str, Any] = {
    **{"dim": 256, "projection": 256, "activation": "elu", "lr": 0.01, "tau": 0.1},
    **{"edges_1": 0.2, "edges_2": 0.2, "columns_1": 0.2, "columns_2": 0.2},
    **{"epochs": 500, "sample": 1024},
}

#: What differs from Cora; epochs and samples of the larger graphs fit half an hour on one thread.
BY_DATASET: Mapping[str, Mapping[str, Any]] = {
    "CiteSeer": {
        **{"dim": 256, "projection": 256, "activation": "prelu", "lr": 1e-3, "tau": 0.9},
        **{"edges_1": 0.2, "edges_2": 0.0, "columns_1": 0.3, "columns_2": 0.2},
    },
    "PubMed": {
        **{"dim": 256, "projection": 256, "lr": 1e-3, "tau": 0.7, "epochs": 800, "sample": 1024},
        **{"edges_1": 0.4, "edges_2": 0.1, "columns_1": 0.0, "columns_2": 0.2},
    },
    "Photo": {
        **{"dim": 256, "projection": 64, "lr": 0.01, "tau": 0.3, "epochs": 1000, "sample": 1024},
        **{"edges_1": 0.3, "edges_2": 0.5, "columns_1": 0.1, "columns_2": 0.1},
    },
    "Computers": {
        **{"activation": "rrelu", "lr": 0.01, "tau": 0.2, "epochs": 1000, "sample": 1024},
        **{"edges_1": 0.6, "edges_2": 0.3, "columns_1": 0.2, "columns_2": 0.3},
    },
    "dblp": {"sample": 1024},
    **dict.fromkeys(("arXiv", "Collab", "MAG"), LARGE),
}

ENTRY = Entry(
    "grace",
    GraceConfig,
    lambda config, device: Pretrained(
        lambda view, config: Grace(view.x.num_columns, config), config, device
    ),
    BY_DATASET,
)
