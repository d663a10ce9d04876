"""Memory: what is estimated, what is chosen by it, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from maskgae.base.errors import InputError
from maskgae.base.settings import Settings
from maskgae.data import Graph
from maskgae.run import plan
from maskgae.run.plan import plan_fit, with_batches
from maskgae.training import memory

GRAPH = Graph(
    200_000,
    Graph.from_edges(np.random.default_rng(0).integers(0, 200_000, (2, 1_000_000))).pairs,
)
BIG, SMALL, TINY = "64GiB", "1.8GiB", "10MB"


def settings(**values: object) -> Settings:
    return Settings().updated({key.replace("__", "."): value for key, value in values.items()})


def test_the_whole_graph_is_chosen_where_it_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, BIG)
    chosen = plan_fit(GRAPH, settings())
    assert chosen.settings == settings()
    assert str(chosen).endswith("of 64.0 GiB available; training on the whole graph at once")


def test_batches_are_chosen_where_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, SMALL)
    wide = settings(encoder__hidden=512, encoder__dim=16)
    chosen = plan_fit(GRAPH, wide)
    assert chosen.settings.training.batch_pairs in plan.BATCHES
    assert chosen.needed <= memory.parse_size(SMALL) < memory.fit_memory(GRAPH, wide)
    assert "training on batches of" in str(chosen)
    with pytest.raises(InputError, match=r"needs about .* 1\.8 GiB are available: give --batch"):
        plan_fit(GRAPH, wide, batch_pairs=0)


@pytest.mark.parametrize("pairs", [None, 4096])
def test_what_cannot_fit_is_refused_with_a_way_out(
    pairs: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(memory.VARIABLE, TINY)
    with pytest.raises(InputError, match="10 MiB are available: lower --batch-pairs") as found:
        plan_fit(GRAPH, settings(), pairs)
    assert memory.VARIABLE in str(found.value)


def test_a_size_must_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "much")
    with pytest.raises(InputError, match="'much' is no size: write it as 8GiB"):
        memory.available_memory()
    monkeypatch.delenv(memory.VARIABLE)
    assert memory.available_memory() > 10**8


def test_batches_keep_the_number_of_updates_and_what_was_given() -> None:
    chosen = with_batches(GRAPH, settings(training__patience=100), 30_000)
    config = chosen.training
    assert (config.epochs, config.patience, config.eval_every) == (50, 10, 1)
    assert (config.batch_pairs, config.fanouts, config.epoch_steps) == (30_000, (10,), 0)
    many = with_batches(GRAPH, settings(training__epochs=7), 1000, given=["training.epochs"])
    assert (many.training.epochs, many.training.epoch_steps) == (7, plan.MOST_STEPS)
    fixed = settings(training__fanouts=[2, 1])
    kept = with_batches(GRAPH, fixed, 1000, given=["training.fanouts"])
    assert kept.training.fanouts == (2, 1)


def test_blocks_take_less_than_the_whole_graph_and_more_with_more_neighbours() -> None:
    def size(pairs: int, *fanouts: int) -> float:
        small = settings(training__batch_pairs=pairs, training__fanouts=list(fanouts))
        return memory.update_memory(GRAPH, small)

    assert size(1000, 3) < size(1000, 10) < size(8000, 10) < memory.update_memory(GRAPH, settings())
    sizes, entries = memory.block_sizes(GRAPH, settings(training__fanouts=[-1]))
    assert sizes == sorted(sizes) and sizes[-1] <= GRAPH.num_nodes
    assert max(entries) <= 2 * GRAPH.num_pairs


def test_attention_and_features_count() -> None:
    rows = np.arange(200_000)  # with one word each
    words = sparse.csr_array((np.ones(rows.size), (rows, rows % 1000)), (rows.size, 1000))
    with_words = Graph(GRAPH.num_nodes, GRAPH.pairs, Graph.from_edges([], features=words).features)
    base = memory.update_memory(with_words, settings())
    assert memory.update_memory(with_words, settings(encoder__kind="gat")) > base
    assert base < memory.update_memory(GRAPH, settings(encoder__node_embedding=512))


def test_epochs_leave_room_for_the_asked_updates():
    graph = Graph.from_edges([(i, (i + j) % 400) for i in range(400) for j in (1, 2, 3, 4, 5)])
    settings = Settings().updated({"training.epochs": 10, "training.max_steps": 200})
    made = with_batches(graph, settings, 50)
    updates = -(-memory.expected_targets(graph, made) // 50)
    assert made.training.epochs * updates >= 200


def test_a_limit_of_the_address_space_counts() -> None:
    script = (
        "import psutil, resource\n"
        "from maskgae.training.memory import available_memory\n"
        "room = psutil.Process().memory_info().vms + 2**26\n"
        "resource.setrlimit(resource.RLIMIT_AS, (room, room))\n"
        "print(available_memory() <= 2**26)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ended.stdout == "True\n", ended.stderr
