r"""The embedding that comes out: what the network learnt beside what went into it.

A network trained to find edges forgets what of the features does not help to find them. So its
layers stand beside the *joined inputs*: the features (wide sparse ones reduced by
:class:`~maskgae.data.words.WordMap`), the same smoothed over the edges once, and far by
personalised PageRank, :math:`X' \leftarrow 0.9 \hat S X' + 0.1 X`, and the leading eigenvectors of
the edges. With the parts :math:`P_i`, the rows of each of one length,

.. math::

    Z = ([P_1, \dots, P_k] - \mu)\, S W,

where :math:`\mu` is the mean and :math:`W` the leading principal axes of the fitted nodes. The
block-diagonal :math:`S` weighs layers and inputs: it multiplies the former by a number, and raises
the singular values of the latter, :math:`U \Sigma V^\top`, to a power, :math:`U \Sigma^p V^\top`,
at the same total variance. With :math:`p > 1` what many nodes share counts for more, which helps
where few labels are learnt from. Maps, mean and axes are kept, so that nodes that come later get
theirs in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream
from maskgae.data.features import DenseFeatures
from maskgae.data.graph import Graph
from maskgae.data.structural import StructuralFeatures
from maskgae.data.words import WordMap
from maskgae.nn.layerwise import smoothed, spread

#: Columns of reduced features, and of structural ones.
WORDS, STRUCTURE = 128, 128
#: Columns that dense features may have; of wider ones the leading axes would take too long.
WIDEST = 2048
#: Steps of personalised PageRank, and the share of a node's own features in each.
SPREAD_STEPS, STAYS = 10, 0.1
#: How long the rows of each part are.
LENGTHS = {"layers": 0.7, "structure": 0.3, "features": 0.5, "once": 0.5, "far": 1.0}


@dataclass(frozen=True, eq=False)
class JoinedInputs:
    """Features, smoothed features and structure as they are without a network.

    Args:
        words: reduces the features, where they are wide and sparse.
        structural: makes columns from edges.
    """

    words: WordMap | None
    structural: StructuralFeatures

    @classmethod
    def fit(cls, graph: Graph, stream: Stream) -> JoinedInputs:
        words = None
        if graph.features is not None:
            words = WordMap.fit(graph.features, WORDS, stream.at("words"))
        return cls(words, StructuralFeatures.fit(graph, STRUCTURE, stream.at("structure")))

    def parts(self, graph: Graph) -> list[Tensor]:
        """Matrices of a row a node, each row of its part's length, ``[N, d]`` each."""
        found = {"structure": self.structural.transform(graph).dense()}
        own = self._features(graph)
        if own is not None:
            found["features"] = own
            found["once"] = smoothed(graph, DenseFeatures(own), 1)
            found["far"] = spread(graph, own, SPREAD_STEPS, STAYS)
        return [LENGTHS[name] * F.normalize(part, dim=1) for name, part in found.items()]

    def _features(self, graph: Graph) -> Tensor | None:
        if self.words is not None and graph.features is not None:
            return self.words.transform(graph.features)
        if graph.features is None or graph.features.num_columns > WIDEST:
            return None
        return graph.features.dense()


@dataclass(frozen=True, eq=False)
class Readout:
    """Layers and joined inputs in a given number of columns.

    Shapes:
        - **mean:** ``[D]``, of the parts side by side
        - **axes:** ``[D, columns]``
    """

    inputs: JoinedInputs
    mean: Tensor
    axes: Tensor

    @classmethod
    def fit(
        cls,
        layers: Sequence[Tensor],
        graph: Graph,
        columns: int,
        stream: Stream,
        weight: float = LENGTHS["layers"],
        power: float = 1.0,
    ) -> Readout:
        """Fits the maps, and the axes of the parts, on the nodes of a graph.

        Args:
            layers: outputs of the network's layers, ``[N, width]`` each.
            graph: with the features and edges that the inputs come from.
            columns: how many come out.
            stream: where the maps' randomness comes from.
            weight: the length of each layer's rows.
            power: to which the singular values of the inputs are raised.
        """
        inputs = JoinedInputs.fit(graph, stream)
        parts = _joined(layers, inputs, graph)
        mean = parts.mean(0)
        centred = parts - mean
        learnt = sum(layer.shape[1] for layer in layers)
        scale = torch.ones(parts.shape[1])
        scale[:learnt] = weight / LENGTHS["layers"]
        if power == 1:
            axes = scale.unsqueeze(1) * _principal(centred * scale, columns)[1]
        else:
            raised = _raised(centred[:, learnt:], power, 2 * columns)
            turn = torch.block_diag(torch.diag(scale[:learnt]), raised)
            axes = turn @ _principal(centred @ turn, columns)[1]
        # Where the parts have fewer columns than are wanted, the others are zero.
        return cls(inputs, mean, F.pad(axes, (0, columns - axes.shape[1])))

    def __call__(self, layers: Sequence[Tensor], graph: Graph) -> Tensor:
        """The embedding of a graph's nodes, whose layers' outputs are given, ``[N, columns]``."""
        return (_joined(layers, self.inputs, graph) - self.mean) @ self.axes

    def grown(self, fitted: Any, known: Any, num_nodes: int) -> Readout:
        """The same for a graph in which the nodes ``fitted`` have the numbers ``known``."""
        structural = self.inputs.structural.renumbered(fitted, known, num_nodes)
        return replace(self, inputs=replace(self.inputs, structural=structural))

    def tensors(self) -> dict[str, Tensor]:
        """Everything that was fitted, by name."""
        found = {"mean": self.mean, "axes": self.axes}
        structural = vars(self.inputs.structural)
        found |= {f"structural.{k}": torch.from_numpy(np.asarray(v)) for k, v in structural.items()}
        if self.inputs.words is not None:
            found |= {f"words.{name}": value for name, value in vars(self.inputs.words).items()}
        return found

    @classmethod
    def from_tensors(cls, found: Mapping[str, Tensor]) -> Readout:
        """What :meth:`tensors` gave."""
        try:
            names = ("basis", "degrees", "scale")
            structural = StructuralFeatures(*(found[f"structural.{k}"].numpy() for k in names))
            words = None
            if "words.axes" in found:
                words = WordMap(found["words.weights"], found["words.axes"])
            return cls(JoinedInputs(words, structural), found["mean"], found["axes"])
        except KeyError as error:
            raise InputError(f"this is no readout, it lacks {error}: fit the run again") from None


def _raised(own: Tensor, power: float, columns: int) -> Tensor:
    r"""What turns centred inputs into :math:`U \Sigma^p`, of their leading columns, ``[D, k]``."""
    values, axes = _principal(own, columns)
    raised = torch.where(values > 1e-12 * values[0], values, torch.inf).pow((power - 1) / 2)
    raised = torch.where(raised.isfinite(), raised, 0.0)
    total = (values * raised**2).sum()
    return axes * (raised * (values.sum() / total).sqrt() if total > 0 else raised).float()


def _principal(centred: Tensor, columns: int) -> tuple[Tensor, Tensor]:
    """The leading variances (times the rows) and principal axes, ``[k]`` and ``[D, k]``.

    There are ``columns`` of them at most; the axes' signs are fixed.
    """
    values, axes = torch.linalg.eigh((centred.T @ centred).double())
    order = values.argsort(descending=True)[:columns]
    axes = axes[:, order].float()
    largest = axes.abs().argmax(0)
    axes *= torch.where(axes[largest, torch.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return values[order].clamp(min=0), axes


def _joined(layers: Sequence[Tensor], inputs: JoinedInputs, graph: Graph) -> Tensor:
    outputs = [LENGTHS["layers"] * F.normalize(layer.cpu(), dim=1) for layer in layers]
    return torch.cat([*outputs, *inputs.parts(graph)], dim=1)
