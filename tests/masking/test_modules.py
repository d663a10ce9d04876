"""Masks on ``edge_index``: a partition where strict, with attributes, drawn by address."""

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.transforms import Compose

from maskgae import MaskEdge, MaskPath
from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data.pairs import pair_keys

RING = torch.tensor([list(range(40)), [(i + 1) % 40 for i in range(40)]])
BOTH = torch.cat([RING, RING.flip(0), torch.tensor([[7], [7]])], dim=1)
MASKS = [MaskEdge(0.4), MaskPath(0.2), MaskPath(0.1, start="edge")]


@pytest.mark.parametrize("mask", MASKS, ids=str)
def test_strict_masks_divide_the_edges(mask) -> None:
    visible, masked = mask(BOTH)
    loops = visible[0] == visible[1]
    assert loops.sum() == 1  # which nothing hides
    seen = set(pair_keys(visible[:, ~loops], 40).tolist())
    hidden = pair_keys(masked, 40).tolist()
    assert 0 < len(hidden) == len(set(hidden)) < 40
    assert not seen & set(hidden)
    assert seen | set(hidden) == set(pair_keys(RING, 40).tolist())
    assert visible.shape[1] == 2 * len(seen) + 1


def test_reference_semantics_lets_masked_edges_shine_through() -> None:
    visible, masked = MaskEdge(0.5, semantics="reference")(BOTH)
    assert set(pair_keys(masked, 40).tolist()) & set(pair_keys(visible, 40).tolist())


def test_calls_differ_and_a_seed_repeats_them(global_rng_untouched) -> None:
    one, other = MaskEdge(0.4, seed=3), MaskEdge(0.4, seed=3)
    first, second = one(BOTH)[1], one(BOTH)[1]
    assert not torch.equal(first, second)
    assert torch.equal(first, other(BOTH)[1])
    assert torch.equal(second, other(BOTH)[1])
    fixed = [MaskEdge(0.4)(BOTH, stream=stream(5, epoch))[1].tolist() for epoch in (1, 1, 2)]
    assert fixed[0] == fixed[1] != fixed[2]


def test_one_direction_is_enough() -> None:
    visible, masked = MaskEdge(0.4)(RING)
    assert visible.shape[1] + masked.shape[1] == 40


def test_a_transform_keeps_attributes_beside_their_edges() -> None:
    data = Data(x=torch.eye(40), edge_index=BOTH, edge_attr=torch.arange(81.0))
    out = Compose([MaskEdge(0.4)])(data)
    assert data.num_edges == 81
    assert out.num_nodes == 40
    assert out.edge_index.equal(BOTH[:, out.edge_attr.long()])
    assert out.num_edges + 2 * out.masked_edge_index.shape[1] == 81


def test_a_ratio_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"mask\.p"):
        MaskEdge(1.5)
