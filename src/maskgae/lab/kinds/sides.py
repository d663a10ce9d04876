r"""The exam of a recommender, as LightGCN's authors have it.

Every user with test items gets the 20 best of all items that are none of its training items.
With :math:`T_u` its test items and :math:`h_{uk}` whether the k-th of the list is one of them,

.. math::

    \mathrm{Recall} = \frac{\sum_k h_{uk}}{|T_u|}, \qquad
    \mathrm{NDCG} = \frac{\sum_k h_{uk} / \log_2(k + 1)}{\sum_{k \le |T_u|} 1 / \log_2(k + 1)},

both in the mean over these users, sums up to 20.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from maskgae.base.rng import Stream
from maskgae.data.csr import CSR, csr_from_coordinates
from maskgae.data.graph import Graph
from maskgae.evaluation.ground import Board, shown_rules
from maskgae.evaluation.outcome import Outcome, forget_peak
from maskgae.evaluation.ranking import left_out
from maskgae.evaluation.scorer import Columns
from maskgae.io import read_edges
from maskgae.io.ids import find_ids
from maskgae.lab.contest.entry import Entry
from maskgae.lab.kinds.graphs import kind_of
from maskgae.lab.kinds.lightgcn import lightgcn_embedding
from maskgae.run.fit import fit
from maskgae.run.run import Run
from maskgae.run.source import Source
from maskgae.training.logits import logits_on

#: Length of a list, users that are asked together, and the rules that stand beside ``fit``.
LENGTH, TOGETHER = 20, 16
RULES = ("three_steps", "degree_product", "filtered_paths", "spectral")

#: Scores of users against all nodes, several at once, ``[n] -> [n, N]``.
Rows = Callable[[Tensor], Mapping[str, Tensor]]


def sides_outcome(entry: Entry, source: Source, seed: int) -> Outcome:
    """Learns from the training edges, and is asked for the test's."""
    graph, test = source.graph, wanted_items(entry, source)
    forget_peak()
    started, facts = time.perf_counter(), dict[str, Any]()
    rows: Rows
    if entry.method == "lightgcn":
        z = lightgcn_embedding(graph, dict(entry.settings), Stream(seed))
        rows = lambda users: {"method": z[users] @ z.T}  # noqa: E731
    else:
        run = fit(source, {**entry.settings, "seed": seed})
        facts = {k: v for k, v in run.record["facts"].items() if k.startswith("scorer")}
        rows = _rows_of(run)
    learnt = time.perf_counter()
    found = recommended(rows, graph, test)
    times = {"train": learnt - started, "evaluate": time.perf_counter() - learnt}
    return Outcome(seed, found.pop("method"), found, {}, facts, times)


def _rows_of(run: Run) -> Rows:
    """The run's own answers and those of some rules, from the same columns."""
    columns = Columns.of(run.graph, logits_on(run.net, run.layers), shown_rules(run.graph))
    board = Board(columns, {"method": run.scorer})

    def rows(users: Tensor) -> dict[str, Tensor]:
        found = board.rows(users)
        return {name: found[name] for name in ("method", *RULES)}

    return rows


def wanted_items(entry: Entry, source: Source) -> CSR:
    """The test items of each node, ``[N, N]``, of the file beside the training edges."""
    listed = read_edges(Path(entry.place) / kind_of(entry.dataset).folder / "test.csv.gz")
    numbers = torch.from_numpy(find_ids(listed.ids, source.ids))[torch.from_numpy(listed.edges)]
    users, items = numbers[:, (numbers >= 0).all(0)]
    order = torch.argsort(users * source.graph.num_nodes + items)
    shape = (source.graph.num_nodes, source.graph.num_nodes)
    return csr_from_coordinates(users[order], items[order], shape)


@torch.no_grad()
def recommended(rows: Rows, graph: Graph, test: CSR) -> dict[str, dict[str, float]]:
    """Recall and NDCG of the lists of all users that have test items, by row."""
    users = (test.counts() > 0).nonzero().squeeze(1)
    sums: dict[str, Tensor] = {}
    for some in users.split(TOGETHER):
        barred = left_out(graph, some)
        wanted = test.rows(some)
        there = torch.zeros(some.numel(), graph.num_nodes, dtype=torch.bool)
        there[wanted.row_of_entry(), wanted.indices.long()] = True
        for name, scores in rows(some).items():
            table = scores.clone()
            table[barred] = -torch.inf
            best = table.topk(LENGTH, dim=1).indices
            found = torch.stack(list_metrics(there.gather(1, best), wanted.counts())).sum(1)
            sums[name] = sums.get(name, torch.zeros(2, dtype=torch.double)) + found
    return {
        name: dict(zip(("recall@20", "ndcg@20"), (total / users.numel()).tolist(), strict=True))
        for name, total in sums.items()
    }


def list_metrics(hits: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Recall and NDCG of lists by which of their places are hits, ``[n, k], [n] -> [n], [n]``.

    >>> hits = torch.tensor([[True, False], [False, False]])
    >>> [values.round(decimals=4).tolist() for values in list_metrics(hits, torch.tensor([2, 1]))]
    [[0.5, 0.0], [0.6131, 0.0]]
    """
    worth = 1 / torch.log2(torch.arange(2, hits.shape[1] + 2, dtype=torch.double))
    most = worth.cumsum(0)[wanted.clamp(max=hits.shape[1]) - 1]
    return hits.double().sum(1) / wanted, (hits * worth).sum(1) / most
