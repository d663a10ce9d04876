"""A generated graph straight into a store, however large; the same that ``generate`` gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from maskgae.base.errors import InputError
from maskgae.base.rng import stream
from maskgae.base.sizes import CHUNK_PAIRS
from maskgae.data.pairs import Cleaning
from maskgae.datasets.generated import (
    Blueprint,
    blueprint,
    candidates,
    check_request,
    cloud_rows,
    draw_features,
    is_exhausted,
    left_out,
)
from maskgae.store.arrays import Array, array_file, write_array
from maskgae.store.ingest import (
    Facts,
    OnStage,
    Stages,
    store_folder,
)
from maskgae.store.sorting import SortedRuns
from maskgae.store.store import Store, open_store
from maskgae.store.write import write_features, write_ids


def generate_store(
    out: Path,
    num_nodes: int,
    num_pairs: int,
    *,
    num_features: int = 64,
    communities: int = 20,
    homophily: float = 0.8,
    exponent: float = 2.5,
    signal: float = 0.2,
    words: int = 0,
    seed: int = 0,
    name: str = "generated",
    force: bool = False,
    on_stage: OnStage | None = None,
) -> Store:
    """Draws a graph chunk by chunk and sorts it on the disk.

    Memory holds some numbers per node, never the pairs; see
    :func:`~maskgae.datasets.generated.generate` for the model and its settings.
    """
    request = {**locals()}
    for other in ("out", "force", "on_stage"):
        request.pop(other)
    check_request(num_nodes, num_pairs, num_features, communities, homophily, exponent, words)
    source = stream(seed, "generate")
    with store_folder(out, force) as place:
        stages = Stages(place, {"generated": request}, on_stage)
        plan = blueprint(num_nodes, num_pairs, communities, homophily, exponent, source)
        found = stages.run("draws", lambda: _draw(stages, plan, num_pairs))
        found |= stages.run("edges", lambda: _choose(stages, plan, num_pairs, found))
        found |= stages.finish_pairs(num_nodes)

        def write_nodes() -> Facts:
            write_ids(place, np.arange(num_nodes))
            write_array(place / "labels.npy", plan.labels.astype(np.int32))
            _write_features(place, plan, num_features, signal, words)
            return {
                "num_nodes": num_nodes,
                "num_features": num_features,
                "label_names": [str(label) for label in range(communities)],
            }

        found |= stages.run("nodes", write_nodes)
        stages.finish(name, found, Cleaning(isolated=found["isolated"]), [])
    return open_store(out)


def _draw(stages: Stages, plan: Blueprint, num_pairs: int) -> Facts:
    """Draws rounds of candidates until there are enough different ones; counts those of each.

    A candidate's value is its round. Of equal ones the earliest comes first, so a pair belongs
    to the first round that drew it.
    """
    runs = stages.runs("draws", empty=True)
    rounds: list[dict[str, int]] = []
    used = kept = 0
    while kept < num_pairs:
        missing = num_pairs - kept
        count, size = candidates(missing)
        for index in range(used, used + count):
            keys = plan.chunk(index, size)
            runs.add(keys, np.full(keys.size, len(rounds), dtype=np.int8))
        runs.flush()
        fresh = sum(int(np.count_nonzero(r == len(rounds))) for _, r in _distinct(runs))
        if is_exhausted(fresh, missing):
            raise InputError(
                f"the model gives hardly more than {kept + fresh:,} different pairs of these "
                f"nodes: ask for fewer than {num_pairs:,}, or for more nodes"
            )
        rounds.append({"first": used, "fresh": fresh})
        used, kept = used + count, kept + fresh
    return {"rounds": rounds, "drawn": kept}


def _distinct(runs: SortedRuns) -> Iterator[tuple[Array, Array]]:
    """The different pairs, ascending, part by part, each with the round it was first drawn in."""
    for keys, values in runs.ranges(CHUNK_PAIRS):
        assert values is not None
        first = np.diff(keys, prepend=-1) > 0
        yield keys[first], values[first]


def _choose(stages: Stages, plan: Blueprint, num_pairs: int, found: Facts) -> Facts:
    """Leaves out what the last round drew too much, and writes the rest as sorted keys."""
    last, excess = found["rounds"][-1], found["drawn"] - num_pairs
    dropped = np.zeros(last["fresh"], dtype=np.bool_)
    dropped[left_out(last["fresh"], excess, plan.stream.at("kept", last["first"]))] = True
    draws, keys, place = stages.runs("draws"), stages.runs("keys", empty=True), 0
    for pairs, rounds in _distinct(draws):
        fresh = np.flatnonzero(rounds == len(found["rounds"]) - 1)
        wrong = fresh[dropped[place : place + fresh.size]]
        place += fresh.size
        keys.add(2 * np.delete(pairs, wrong))
    keys.flush()
    return {}


def _write_features(out: Path, plan: Blueprint, columns: int, signal: float, words: int) -> None:
    if not columns:
        return
    source = plan.stream.at("features")
    if words:
        write_features(out, draw_features(plan.labels, columns, signal, words, source))
        return
    with array_file(out / "features.npy", np.float32) as file:
        file.shape = (plan.ids.size, columns)
        for rows in cloud_rows(plan.labels, columns, signal, source):
            file.append(rows)
