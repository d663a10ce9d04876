r"""Deep Graph Infomax: nodes of the graph are told from nodes with other nodes' features.

With :math:`H = \mathrm{PReLU}(\hat A X W + b)`, :math:`\tilde H` the same with the rows of
:math:`X` shuffled, the summary :math:`s = \sigma(\mathrm{mean}_i h_i)` and :math:`D(h, s) =
h^\top M s + c`,

.. math::
    L = \frac{1}{2N} \sum_i \log(1 + e^{-D(h_i, s)}) + \log(1 + e^{D(\tilde h_i, s)}).

The embedding is :math:`H`. Veličković et al., ICLR 2019: one layer of 512, Adam 0.001, patience 20
on the training loss; 256 on PubMed. The published script is for Cora alone; Photo, Computers
and dblp have no published settings and take Cora's, and so do arXiv, Collab and MAG, narrower and
for fewer epochs.

==============================  ============================  ==================================
\                               published code                here
==============================  ============================  ==================================
weights kept                    before the best epoch's step  after it
epochs                          at most 10,000                at most 1,000
shuffled features               a second product              rows of :math:`X W`, the same numbers
==============================  ============================  ==================================
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from maskgae.base.fields import setting
from maskgae.base.rng import Stream
from maskgae.lab.methods.augment import shuffle_rows
from maskgae.lab.methods.contrast import Bilinear, discrimination
from maskgae.lab.methods.layers import View
from maskgae.lab.methods.pretraining import Pretext, Pretrained
from maskgae.lab.methods.registry import Entry
from maskgae.nn.activations import PReLU
from maskgae.nn.convs import GCNConv


@dataclass(frozen=True)
class DGIConfig:
    """The published settings of Cora."""

    dim: int = setting(512, "width of the embedding", low=1)
    epochs: int = setting(1000, "at most this many updates", low=1)
    patience: int = setting(
        20, "stop after this many updates without a smaller loss; 0: never", low=0
    )
    lr: float = setting(1e-3, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(0.0, "weight decay of Adam", low=0)


class DGI(Pretext):
    """One graph convolution and a discriminator against the summary of the graph."""

    def __init__(self, in_channels: int, config: DGIConfig) -> None:
        super().__init__()
        self.conv, self.activation = GCNConv(in_channels, config.dim), PReLU()
        self.score = Bilinear(config.dim, config.dim)

    def encode(self, view: View) -> Tensor:
        h: Tensor = self.activation(self.conv(view.x, view.adjacency))
        return h

    def loss(self, view: View, stream: Stream) -> Tensor:
        sent = self.conv.send(view.x)
        real, fake = (
            self.activation(self.conv.combine(rows, view.adjacency))
            for rows in (sent, shuffle_rows(sent, stream))
        )
        summary = real.mean(0).sigmoid()
        return discrimination(self.score(real, summary), self.score(fake, summary))


ENTRY = Entry(
    "dgi",
    DGIConfig,
    lambda config, device: Pretrained(
        lambda view, config: DGI(view.x.num_columns, config), config, device
    ),
    by_dataset={
        "PubMed": {"dim": 256},
        # As many updates and as wide as is likely to fit half an hour and 8 GiB.
        "arXiv": {"dim": 256, "epochs": 500},
        "Collab": {"dim": 256, "epochs": 500},
        "MAG": {"dim": 64, "epochs": 500},
    },
)
