"""Views of a graph: what is dropped stays away, and what it is computed with follows."""

from __future__ import annotations

import torch

from maskgae.base.rng import stream
from maskgae.data.features import Features, as_features
from maskgae.datasets.generated import generate
from maskgae.lab.methods.augment import drop_edges, mask_columns, sample_nodes, shuffle_rows
from maskgae.nn.adjacency import Adjacency

GRAPH = generate(60, 240, num_features=8, seed=0)
ADJACENCY = Adjacency.of(GRAPH)


def dense(adjacency: Adjacency) -> torch.Tensor:
    return adjacency.sum(torch.eye(adjacency.num_src))


def test_each_direction_is_dropped_on_its_own() -> None:
    before, after = dense(ADJACENCY), dense(drop_edges(ADJACENCY, 0.4, stream(0)))
    assert ((before == 1) | (after == 0)).all()
    assert 0.5 < after.sum() / before.sum() < 0.7
    assert not torch.equal(after, after.T)


def test_a_view_is_normalised_by_its_own_degrees_and_runs_backward() -> None:
    view = drop_edges(ADJACENCY, 0.4, stream(0))
    looped = dense(view) + torch.eye(60)
    scale = looped.sum(1).rsqrt()
    expected = scale.unsqueeze(1) * looped * scale
    x = torch.rand(60, 3, generator=stream(1).torch()).requires_grad_()
    upstream = torch.rand(60, 3, generator=stream(2).torch())
    out = view.normalized(x)
    torch.testing.assert_close(out, expected @ x)
    (grad,) = torch.autograd.grad(out, x, upstream)
    torch.testing.assert_close(grad, expected.T @ upstream)


def test_chances_may_differ_from_entry_to_entry() -> None:
    p = torch.zeros(ADJACENCY.csr.num_entries)
    p[::2] = 1.0
    assert drop_edges(ADJACENCY, p, stream(0)).csr.num_entries == p.numel() // 2


def check_masked(x: Features) -> None:
    masked = mask_columns(x, torch.tensor([0.0, 1.0] * 4), stream(0))
    expected = x.dense().clone()
    expected[:, 1::2] = 0
    torch.testing.assert_close(masked.dense(), expected)
    torch.testing.assert_close(torch.from_numpy(masked.scipy().toarray()), expected)
    torch.testing.assert_close(masked.linear(torch.ones(8, 2)), expected @ torch.ones(8, 2))
    torch.testing.assert_close(masked.rows(torch.tensor([3])).dense(), expected[[3]])


def test_columns_are_masked_for_all_nodes_dense_or_sparse() -> None:
    rows = torch.rand(60, 8, generator=stream(0).torch())
    check_masked(as_features(rows))
    check_masked(as_features(rows * (rows > 0.95)))


def test_a_shuffle_keeps_every_row() -> None:
    rows = torch.arange(20.0).view(10, 2)
    shuffled = shuffle_rows(rows, stream(0))
    assert not torch.equal(shuffled, rows)
    assert torch.equal(shuffled.sort(0).values, rows)


def test_the_same_stream_draws_the_same_view() -> None:
    one, other = (drop_edges(ADJACENCY, 0.4, stream(3)).csr.indices for _ in range(2))
    assert torch.equal(one, other)
    assert torch.equal(sample_nodes(50, 9, stream(3)), sample_nodes(50, 9, stream(3)))
