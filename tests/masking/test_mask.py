"""What a mask hides, what it leaves visible, and what it asks for."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from maskgae.base.errors import InputError
from maskgae.base.rng import Stream, stream
from maskgae.base.settings import MaskConfig
from maskgae.data import Graph
from maskgae.masking import Masked, draw_mask, mask, random_walks
from maskgae.nn import Adjacency

pytestmark = pytest.mark.usefixtures("global_rng_untouched")

# A square 0 1 2 3 with the diagonal 0 - 2, and node 4 on its own.
SQUARE = Graph.from_edges([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)], 5)

EDGE = MaskConfig(p=0.7)
PATH = MaskConfig(kind="path", q=0.2)
STRICT = {
    "edge": EDGE,
    "path": PATH,
    "path-edge-roots": MaskConfig(kind="path", q=0.1, roots="edge"),
    "path-long": MaskConfig(kind="path", q=0.1, length=7),
    "path-biased": MaskConfig(kind="path", q=0.2, bias_p=0.25, bias_q=4.0),
}
ALL = STRICT | {
    f"{name}-reference": MaskConfig(**{**vars(config), "semantics": "reference"})
    for name, config in STRICT.items()
}


@pytest.fixture(scope="module")
def graph() -> Graph:
    """500 nodes, about 2,000 pairs."""
    return Graph.from_edges(np.random.default_rng(0).integers(0, 500, (2, 2000)), 500)


def draw(graph: Graph, config: MaskConfig, epoch: int = 0) -> Masked:
    return draw_mask(graph, config, layers=2, stream=stream(0, "mask", epoch))


def seen_by_encoder(graph: Graph, masked: Masked) -> Tensor:
    """Both directions of every edge in the matrix that the encoder multiplies with."""
    csr = Adjacency.of(graph, masked.visible).csr
    return torch.stack([csr.row_of_entry(), csr.indices])


@pytest.mark.parametrize("name", STRICT)
@pytest.mark.parametrize("epoch", range(3))
def test_strict_masks_partition_the_pairs_and_leak_nothing(
    graph: Graph, name: str, epoch: int
) -> None:
    masked = draw(graph, STRICT[name], epoch)
    hidden = (~masked.visible).nonzero().squeeze(1)
    assert masked.targets.equal(hidden)
    assert masked.visible_targets == 0
    assert masked.hidden_share == pytest.approx(hidden.numel() / graph.num_pairs)
    seen = {tuple(edge) for edge in seen_by_encoder(graph, masked).T.tolist()}
    targets = {tuple(pair) for pair in graph.pairs[:, masked.targets].T.tolist()}
    assert not seen & targets
    assert not seen & {(v, u) for u, v in targets}
    assert len(seen) == 2 * (graph.num_pairs - len(targets))


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("epoch", range(3))
def test_strict_edge_masks_hide_the_ratio_asked_for(graph: Graph, p: float, epoch: int) -> None:
    hidden, pairs = draw(graph, MaskConfig(p=p), epoch).targets.numel(), graph.num_pairs
    assert abs(hidden - p * pairs) < 4 * (pairs * p * (1 - p)) ** 0.5


def test_edge_masks_are_uniform_over_pairs_and_epochs(graph: Graph) -> None:
    config, epochs = MaskConfig(p=0.3), 400
    hidden = torch.stack([~draw(graph, config, epoch).visible for epoch in range(epochs)]).double()
    for axis, draws in ((0, epochs), (1, graph.num_pairs)):
        # How often a pair, or in an epoch, something is hidden: binomial, so chi-squared.
        counts = hidden.sum(axis).numpy()
        spread = ((counts - 0.3 * draws) ** 2).sum() / (draws * 0.3 * 0.7)
        assert 1e-3 < stats.chi2.cdf(spread, counts.size) < 1 - 1e-3
    for one, other in ((hidden[:-1], hidden[1:]), (hidden[:, :-1], hidden[:, 1:])):
        # Neither the epoch nor the pair before says anything about the next.
        together = (one * other).mean().item()
        assert together == pytest.approx(0.09, abs=4 * (0.09 * 0.91 / one.numel()) ** 0.5)


@pytest.mark.parametrize("semantics", ["strict", "reference"])
def test_edge_masks_do_not_depend_on_chunks(
    graph: Graph, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = MaskConfig(p=0.3, semantics=semantics)
    whole = draw(graph, config)
    monkeypatch.setattr(mask, "CACHE_PAIRS", 77)
    assert draw(graph, config).visible.equal(whole.visible)


@pytest.mark.parametrize("p", [0.3, 0.7])
def test_reference_edge_masks_leave_the_expected_share_of_targets_visible(
    graph: Graph, p: float
) -> None:
    drawn = [draw(graph, MaskConfig(p=p, semantics="reference"), e) for e in range(20)]
    targets = sum(masked.targets.numel() for masked in drawn)
    visible = sum(float(masked.visible[masked.targets].sum()) for masked in drawn)
    # A hidden direction's pair stays visible unless the other direction is hidden as well.
    assert visible / targets == pytest.approx(1 - p, abs=4 * (2 * p * (1 - p) / targets) ** 0.5)
    hidden = np.mean([masked.hidden_share for masked in drawn])
    assert hidden == pytest.approx(p * p, abs=0.02)


@pytest.mark.parametrize("name", [name for name in ALL if "reference" in name])
def test_reference_targets_stand_twice_where_both_directions_are_hidden(
    graph: Graph, name: str
) -> None:
    masked = draw(graph, ALL[name])
    times = torch.bincount(masked.targets, minlength=graph.num_pairs)
    assert int(times.max()) == 2
    assert masked.visible.equal(times < 2)
    assert 0 < masked.visible_targets < 1
    assert int(masked.degrees.sum()) == masked.targets.numel()


def test_strict_degrees_count_both_ends_of_hidden_pairs() -> None:
    # Pairs in order: 01 02 03 12 23.
    masked = mask.hide(SQUARE, torch.tensor([True, True, False, False, True]))
    assert masked.targets.tolist() == [0, 1, 4]
    assert masked.degrees.tolist() == [2, 1, 2, 1, 0]


def test_reference_degrees_count_the_heads_of_hidden_directions() -> None:
    forward = torch.tensor([True, True, False, False, False])  # 0 -> 1, 0 -> 2
    backward = torch.tensor([True, False, False, True, False])  # 1 -> 0, 2 -> 1
    masked = mask._reference(SQUARE, forward, backward)
    assert masked.visible.tolist() == [False, True, True, True, True]
    assert masked.targets.tolist() == [0, 1, 0, 3]
    assert masked.degrees.tolist() == [1, 2, 1, 0, 0]
    assert masked.visible_targets == 0.5


def test_strict_degrees_are_those_of_the_hidden_graph(graph: Graph) -> None:
    masked = draw(graph, PATH)
    assert masked.degrees.equal(graph.subgraph(~masked.visible).degrees)


def test_no_mask_shows_everything_and_asks_for_everything() -> None:
    masked = draw(SQUARE, MaskConfig(kind="none"))
    assert masked.visible.all()
    assert masked.targets.tolist() == [0, 1, 2, 3, 4]
    assert masked.degrees.tolist() == [3, 2, 3, 2, 0]
    assert (masked.hidden_share, masked.visible_targets) == (0, 1)


@pytest.mark.parametrize("semantics", ["strict", "reference"])
def test_path_masks_hide_exactly_what_was_walked(
    graph: Graph, semantics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = []

    def spy(graph: Graph, starts: Tensor, length: int, stream: Stream) -> Tensor:
        walked.append((starts, random_walks(graph, starts, length, stream)))
        return walked[-1][1]

    monkeypatch.setattr(mask, "random_walks", spy)
    masked = draw(graph, MaskConfig(kind="path", q=0.2, semantics=semantics))
    ((starts, entries),) = walked
    assert entries.shape[0] == 3  # two layers and one
    assert starts.unique().numel() == starts.numel()
    assert abs(starts.numel() - 100) < 4 * (500 * 0.2 * 0.8) ** 0.5
    csr = graph.structure.csr
    pairs = {
        (u, v)
        for u, v in zip(
            csr.row_of_entry()[entries[entries >= 0]].tolist(),
            csr.indices[entries[entries >= 0]].tolist(),
            strict=True,
        )
    }
    times = torch.bincount(masked.targets, minlength=graph.num_pairs)
    for (u, v), found in zip(graph.pairs.T.tolist(), times.tolist(), strict=True):
        directions = ((u, v) in pairs) + ((v, u) in pairs)
        assert found == (directions if semantics == "reference" else min(directions, 1))


@pytest.mark.parametrize("name", ALL)
def test_the_stream_decides(graph: Graph, name: str) -> None:
    once, again, other = (draw(graph, ALL[name], epoch) for epoch in (4, 4, 5))
    assert once.visible.equal(again.visible) and once.targets.equal(again.targets)
    assert not once.visible.equal(other.visible)


def test_a_pair_is_hidden_alike_in_every_graph_of_the_same_nodes(graph: Graph) -> None:
    part = graph.subgraph(torch.arange(0, graph.num_pairs, 3))
    whole, some = draw(graph, EDGE), draw(part, EDGE)
    assert some.visible.equal(whole.visible[::3])


@pytest.mark.parametrize("semantics", ["strict", "reference"])
@pytest.mark.parametrize("kind", ["edge", "path"])
def test_a_mask_that_hides_nothing_is_drawn_again(kind: str, semantics: str) -> None:
    config = MaskConfig(kind=kind, p=0.1, q=0.1, semantics=semantics)
    pair = Graph.from_edges([(0, 1)], 3)
    for epoch in range(100):
        assert draw(pair, config, epoch).targets.numel() > 0


def test_a_ratio_that_never_hides_anything_is_an_error() -> None:
    with pytest.raises(InputError, match=r"hid none of 5 edges: raise mask\.p=1e-09"):
        draw(SQUARE, MaskConfig(p=1e-9))


@pytest.mark.parametrize("kind", ["edge", "path", "none"])
def test_a_graph_without_edges_is_an_error(kind: str) -> None:
    with pytest.raises(InputError, match="empty has no edges"):
        draw(Graph.from_edges([], 3, name="empty"), MaskConfig(kind=kind))
