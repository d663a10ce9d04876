"""The embedding: layers and joined inputs in a given number of columns."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.data.features import as_features
from maskgae.data.graph import Graph
from maskgae.data.words import WordMap
from maskgae.nn.layerwise import spread
from maskgae.nn.readout import LENGTHS, JoinedInputs, Readout


@pytest.fixture(scope="module")
def graph() -> Graph:
    random = stream(3).numpy()
    edges = random.integers(60, size=(200, 2))
    words = sp.random_array((60, 400), density=0.04, rng=random)
    return Graph.from_edges(edges, num_nodes=60, features=words)


def test_words_are_weighted_scaled_and_projected(graph):
    words = graph.features
    made = WordMap.fit(words, 60, stream(0))
    x = words.dense().numpy()
    used = (x != 0).sum(0)
    x = x * (np.log(61 / (1 + used)) + 1)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    x = x / np.where(lengths > 0, lengths, 1)
    # Sixty columns hold sixty rows: nothing is lost, so products are what they were.
    found = made.transform(words).numpy()
    assert np.allclose(found @ found.T, x @ x.T, atol=1e-5)


def test_words_leave_narrow_and_dense_features_alone(graph):
    assert WordMap.fit(graph.features, 400, stream(0)) is None
    assert WordMap.fit(as_features(np.ones((5, 300))), 8, stream(0)) is None


def test_later_rows_lie_in_the_same_basis(graph):
    made = WordMap.fit(graph.features, 8, stream(0))
    some = torch.tensor([4, 7])
    assert torch.allclose(
        made.transform(graph.features.rows(some)), made.transform(graph.features)[some], atol=1e-6
    )


def test_rows_of_a_part_have_one_length(graph):
    parts = JoinedInputs.fit(graph, stream(0)).parts(graph)
    for part, wanted in zip(parts, list(LENGTHS.values())[1:], strict=True):
        lengths = part.norm(dim=1)
        assert torch.all((lengths < 1e-6) | ((lengths - wanted).abs() < 1e-5))


def test_far_is_personalised_pagerank(graph):
    x = torch.randn(60, 3, generator=stream(2).torch())
    a = torch.from_numpy(graph.to_scipy().toarray() != 0).float() + torch.eye(60)
    scale = a.sum(1).rsqrt()
    step = 0.9 * scale[:, None] * a * scale
    wanted = torch.linalg.solve(torch.eye(60) - step, 0.1 * x)
    assert torch.allclose(spread(graph, x, 200, 0.1), wanted, atol=1e-4)


def test_full_width_loses_nothing(graph):
    layer = torch.randn(60, 5, generator=stream(1).torch())
    readout = Readout.fit([layer], graph, 10_000, stream(0))
    own = LENGTHS["layers"] * torch.nn.functional.normalize(layer, dim=1)
    parts = [own, *readout.inputs.parts(graph)]
    joined = torch.cat(parts, dim=1)
    joined = joined - joined.mean(0)
    found = readout([layer], graph)
    assert torch.allclose(found @ found.T, joined @ joined.T, atol=1e-4)


def test_it_has_the_columns_that_are_wanted_and_comes_back_from_tensors(graph):
    readout = Readout.fit([], graph, 12, stream(0))
    again = Readout.from_tensors(readout.tensors())
    assert readout([], graph).shape == (60, 12)
    assert torch.equal(again([], graph), readout([], graph))
    with pytest.raises(InputError, match="no readout"):
        Readout.from_tensors({"mean": torch.zeros(3)})


def test_nodes_keep_their_rows_under_other_numbers(graph):
    readout = Readout.fit([], graph, 12, stream(0))
    order = torch.from_numpy(stream(5).numpy().permutation(60))
    place = torch.argsort(order)  # node v is number place[v] of the other graph
    other = Graph.from_edges(
        place[graph.pairs].T.numpy(), num_nodes=60, features=graph.features.rows(order)
    )
    moved = readout.grown(slice(None), place.numpy(), 60)([], other)
    assert torch.allclose(moved[place], readout([], graph), atol=1e-5)


def test_layers_and_inputs_are_weighed_apart(graph):
    layer = torch.randn(60, 5, generator=stream(1).torch())
    readout = Readout.fit([layer], graph, 10_000, stream(0), weight=1.4, power=2.0)
    own = 1.4 * torch.nn.functional.normalize(layer, dim=1)
    inputs = torch.cat(readout.inputs.parts(graph), dim=1)
    own, inputs = own - own.mean(0), inputs - inputs.mean(0)
    left, values, _ = torch.linalg.svd(inputs, full_matrices=False)
    squared = left * values**2 * (values.square().sum() / values.pow(4).sum()).sqrt()
    joined = torch.cat([own, squared], dim=1)
    found = readout([layer], graph)
    assert torch.allclose(found @ found.T, joined @ joined.T, atol=1e-4)


def test_nothing_to_weigh_is_no_matter():
    graph = Graph.from_edges([], 4)
    readout = Readout.fit([], graph, 3, stream(0), power=2.0)
    assert not readout([], graph).any()
