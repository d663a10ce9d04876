"""What a layer sees: the visible graph, whole or in part, with its products and gradients."""

import numpy as np
import pytest
import torch
from torch import Tensor

from maskgae.data import CSR, Graph
from maskgae.nn import Adjacency, entries
from maskgae.nn.attention import weighted_sum

# A path 0 - 1 - 2 and node 3 on its own.
PATH = Graph.from_edges([(0, 1), (1, 2)], 4, weights=[2.0, 3.0])
X = torch.tensor([[1.0], [10.0], [100.0], [1000.0]])


def random_graph(weights: bool) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 30, (2, 90))
    return Graph.from_edges(edges, 32, weights=rng.random(90) + 0.1 if weights else None)


def dense(csr: CSR) -> Tensor:
    return csr.matmul(torch.eye(csr.num_columns))


def test_products_of_a_literal_path() -> None:
    plain = Adjacency.of(Graph.from_edges([(0, 1), (1, 2)], 4))
    assert plain.sum(X).flatten().tolist() == [10, 101, 10, 0]
    assert plain.mean(X).flatten().tolist() == [10, 50.5, 10, 0]
    # Degrees with self-loops are 2, 3, 2, 1.
    root = 6**0.5
    expected = [1 / 2 + 10 / root, 1 / root + 10 / 3 + 100 / root, 10 / root + 100 / 2, 1000]
    assert plain.normalized(X).flatten().tolist() == pytest.approx(expected)
    assert repr(plain) == "Adjacency(4, 4, entries=4)"


def test_products_of_a_weighted_path() -> None:
    weighted = Adjacency.of(PATH)
    assert weighted.degrees.tolist() == [2, 5, 3, 0]
    assert weighted.sum(X).flatten().tolist() == [20, 302, 30, 0]
    assert weighted.mean(X).flatten().tolist() == pytest.approx([10, 302 / 5, 10, 0])
    first = 1 / 3 + 2 * 10 / (3 * 6) ** 0.5
    assert weighted.normalized(X).flatten()[0].item() == pytest.approx(first)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_the_visible_part_equals_the_graph_built_from_it(weights: bool, share: float) -> None:
    graph = random_graph(weights)
    visible = torch.from_numpy(np.random.default_rng(1).random(graph.num_pairs) < share)
    ours, built = Adjacency.of(graph, visible), Adjacency.of(graph.subgraph(visible))
    assert ours.csr.indptr.equal(built.csr.indptr)
    assert ours.csr.indices.equal(built.csr.indices)
    assert ours.degrees.equal(built.degrees)
    assert dense(ours.csr).equal(dense(built.csr))
    assert ours.order().equal(ours.csr.transpose_order())
    assert built.order().equal(built.csr.transpose_order())


def test_a_square_matrix_is_its_own_transpose() -> None:
    ours = Adjacency.of(random_graph(True))
    assert dense(ours.transposed()).equal(dense(ours.csr).T)
    assert (ours.num_dst, ours.num_src) == (32, 32)


def chunk(whole: Adjacency, rows: int) -> Adjacency:
    return Adjacency(whole.csr.rows(torch.arange(rows)), whole.degrees)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("product", ["sum", "mean", "normalized"])
def test_a_chunk_of_rows_gives_the_first_rows_with_their_gradient(
    weights: bool, product: str
) -> None:
    whole = Adjacency.of(random_graph(weights))
    x, y = (torch.linspace(-1, 1, 96).view(32, 3).requires_grad_() for _ in range(2))
    part = getattr(chunk(whole, 10), product)(x)
    full = getattr(whole, product)(y)[:10]
    torch.testing.assert_close(part, full)
    part.square().sum().backward()
    full.square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)


@pytest.mark.parametrize("rows", [32, 10])
def test_weighted_sums_have_the_right_gradient(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "CHUNK", 7)
    ours = chunk(Adjacency.of(random_graph(False)), rows)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(32, 2, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    weights = torch.rand(
        ours.csr.num_entries, 2, dtype=torch.float64, generator=generator, requires_grad=True
    )
    own = torch.rand(rows, 2, dtype=torch.float64, generator=generator, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *tensors: weighted_sum(*tensors, ours), (x, weights, own)
    )


@pytest.mark.parametrize("rows", [32, 10])
def test_compiled_weighted_sums_are_those_of_torch(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = chunk(Adjacency.of(random_graph(False)), rows)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(32, 2, 3, generator=generator, requires_grad=True)
    weights = torch.rand(ours.csr.num_entries, 2, generator=generator, requires_grad=True)
    own = torch.rand(rows, 2, generator=generator, requires_grad=True)
    found = []
    for many in (1, 10**9):
        monkeypatch.setattr(entries, "MANY", many)
        out = weighted_sum(x, weights, own, ours)
        found.append((out, *torch.autograd.grad(out.square().sum(), (x, weights, own))))
    for compiled, plain in zip(*found, strict=True):
        torch.testing.assert_close(compiled, plain)


@pytest.mark.parametrize("side", ["sources", "destinations"])
@pytest.mark.parametrize("rows", [32, 10])
def test_rows_for_entries_have_the_right_gradient(side: str, rows: int) -> None:
    whole = Adjacency.of(random_graph(False))
    ours = whole if rows == 32 else chunk(whole, rows)
    x = torch.linspace(-1, 1, 4 * 32, dtype=torch.float64).view(32, 2, 2)
    x = (x if side == "sources" else x[:rows]).clone().requires_grad_()
    index = ours.csr.indices if side == "sources" else ours.csr.row_of_entry()
    assert getattr(ours, side)(x).equal(x[index])
    assert torch.autograd.gradcheck(getattr(ours, side), x)


def test_a_weighted_sum_by_hand() -> None:
    # Entries: 0-1, 1-0, 1-2, 2-1.
    weights = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
    own = torch.tensor([[5.0], [0.0], [0.0], [6.0]])
    out = weighted_sum(X.view(4, 1, 1), weights, own, Adjacency.of(PATH))
    assert out.flatten().tolist() == [15, 302, 40, 6000]
