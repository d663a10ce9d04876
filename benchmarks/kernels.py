"""The choices that the code is built on, measured: ``python -m benchmarks.kernels``.

Prints a table for each and writes ``benchmarks/results/kernels.json``.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
import torch.nn.functional as F
from torch import Tensor
from torch_geometric.utils import negative_sampling

from benchmarks import machine
from benchmarks.machine import seconds
from benchmarks.speed import RESULTS
from maskgae.base.dropout import dropout
from maskgae.base.matmul import matmul
from maskgae.base.rng import stream
from maskgae.base.settings import DecoderConfig
from maskgae.data import features as feature_module
from maskgae.data.csr import CSR
from maskgae.data.features import BREAK_EVEN_DENSITY, DenseFeatures, Features, SparseFeatures
from maskgae.data.negatives import NonEdges
from maskgae.datasets.generated import generate
from maskgae.nn import entries as entry_module
from maskgae.nn import products
from maskgae.nn.decoders import MLP
from maskgae.nn.losses import bce, pair_loss

Part = dict[str, Any]
Calls = dict[str, Callable[[], Any]]


def timed(name: str, calls: Calls) -> dict[str, Any]:
    """A row: milliseconds of each call."""
    return {"name": name, "ms": {key: 1e3 * seconds(call) for key, call in calls.items()}}


def sparse_products(quick: bool) -> Part:
    """A symmetric matrix of ones times a dense one, as in a layer of the encoder."""
    sizes = [(2_708, 10_000, 64), (20_000, 90_000, 128), (170_000, 2_300_000, 128)]
    rows = []
    for nodes, entries, width in sizes[:1] if quick else sizes:
        graph = generate(nodes, entries // 2, num_features=0)
        csr, x = graph.structure.csr, torch.randn(nodes, width)
        ones = torch.ones(csr.num_entries)
        matrix = torch.sparse_csr_tensor(csr.indptr, csr.indices, ones, (nodes, nodes))
        other = sp.csr_matrix((ones.numpy(), csr.indices.numpy(), csr.indptr.numpy()))
        calls: Calls = {
            "embedding_bag (ours)": lambda csr=csr, x=x: csr.matmul(x),
            "torch CSR": lambda matrix=matrix, x=x: matrix @ x,
            "spmm_reduce": lambda matrix=matrix, x=x: torch.sparse.mm(matrix, x, "sum"),
            "SciPy": lambda other=other, x=x: other @ x.numpy(),
        }
        rows.append(timed(f"{nodes:,} rows, {entries:,} entries, {width} columns", calls))
    return {"title": "Sparse products", "what": "a product", "rows": rows}


def dense_products(quick: bool) -> Part:
    """A product of dense matrices and both of its gradients, as in a layer or a decoder."""
    sizes = [(2_708, 512, 512), (13_752, 767, 512), (19_717, 512, 256), (2_048, 512, 2_048)]
    rows = []
    for n, k, m in sizes[:1] if quick else sizes:
        a, b = torch.randn(n, k, requires_grad=True), torch.randn(k, m, requires_grad=True)
        slopes = torch.randn(n, m)
        calls: Calls = {
            "matmul (ours)": lambda a=a, b=b, slopes=slopes: matmul(a, b).backward(slopes),
            "torch": lambda a=a, b=b, slopes=slopes: (a @ b).backward(slopes),
        }
        rows.append(timed(f"{n:,} rows, {k} columns, {m} wide", calls))
    return {"title": "Dense products", "what": "a product, forward and backward", "rows": rows}


def break_even(quick: bool) -> Part:
    """Dropout and the first product, forward and backward, sparse against dense."""
    densities = (0.01, 0.3) if quick else (0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
    shape = (500, 200) if quick else (10_000, 1_000)
    weight = torch.randn(shape[1], 128, requires_grad=True)
    rows = []
    for density in densities:
        matrix = sp.random_array(shape, density=density, format="csr", dtype=np.float32, rng=0)
        sparse, dense = _sparse(matrix), DenseFeatures(torch.from_numpy(matrix.toarray()))
        sparse.by_column  # noqa: B018 - made once for a training
        row = timed(
            f"{density:.1%}",
            {
                "sparse": lambda x=sparse: _first_layer(x, 0.0, weight),
                "dense": lambda x=dense: _first_layer(x, 0.0, weight),
                "sparse, dropout 0.8": lambda x=sparse: _first_layer(x, 0.8, weight),
                "dense, dropout 0.8": lambda x=dense: _first_layer(x, 0.8, weight),
            },
        )
        rows.append(row | {"density": density})
    plain = crossing(rows, "sparse", "dense")
    dropped = crossing(rows, "sparse, dropout 0.8", "dense, dropout 0.8")
    finding = (
        f"Without dropout both take the same time at {plain:.1%} non-zeros; at dropout 0.8 at "
        f"{dropped:.1%} before it, {0.2 * dropped:.1%} after it. The code takes the sparse way up "
        f"to {BREAK_EVEN_DENSITY:.1%}."
    )
    return {
        "title": "Sparse or dense features",
        "what": "non-zeros",
        "rows": rows,
        "finding": finding,
        "break_even": {"no dropout": plain, "dropout 0.8, before": dropped},
    }


def _sparse(matrix: sp.csr_array) -> SparseFeatures:
    indptr, indices = (
        torch.from_numpy(a.astype(np.int64)) for a in (matrix.indptr, matrix.indices)
    )
    return SparseFeatures(CSR(indptr, indices, matrix.shape[1], torch.from_numpy(matrix.data)))


def _first_layer(x: Features, p: float, weight: Tensor) -> None:
    # The sparse side must stay sparse, whatever the constant that is being measured says.
    kept, feature_module.BREAK_EVEN_DENSITY = feature_module.BREAK_EVEN_DENSITY, 1.0
    try:
        out = x.dropout(p, stream(0, "kernel")).linear(weight)
        torch.autograd.grad(out, weight, torch.ones_like(out))
    finally:
        feature_module.BREAK_EVEN_DENSITY = kept


def crossing(rows: Sequence[dict[str, Any]], first: str, second: str) -> float:
    """The density at which two times cross, interpolated; an end where they do not.

    >>> rows = [{"density": d, "ms": {"a": t, "b": 2.0}} for d, t in ((0.1, 1.0), (0.2, 3.0))]
    >>> round(crossing(rows, "a", "b"), 3)
    0.15
    """
    gaps = [(row["density"], row["ms"][first] - row["ms"][second]) for row in rows]
    for (low, before), (high, after) in pairwise(gaps):
        if before < 0 <= after:
            return low + (high - low) * -before / (after - before)
    return gaps[0][0] if gaps[0][1] >= 0 else gaps[-1][0]


def entry_products(quick: bool) -> Part:
    """Inner products at the entries of a graph, which are the gradient of attention weights."""
    rows = []
    for nodes, found, width in [(2_708, 10_000, 64), (2_708, 10_000, 512), (14_000, 490_000, 256)][
        : 1 if quick else 3
    ]:
        csr = generate(nodes, found // 2, num_features=0).structure.csr
        left, right = torch.randn(nodes, 4, width // 4), torch.randn(nodes, 4, width // 4)
        calls: Calls = {
            "compiled": lambda a=left, b=right, csr=csr: _entry_products(a, b, csr, many=0),
            "torch": lambda a=left, b=right, csr=csr: _entry_products(a, b, csr, many=2**60),
        }
        rows.append(timed(f"{nodes:,} rows, {found:,} entries, {width} columns", calls))
    finding = f"The code takes compiled loops from {entry_module.MANY:,} products on."
    what = "four heads, forward"
    return {"title": "Products at entries", "what": what, "rows": rows, "finding": finding}


def _entry_products(left: Tensor, right: Tensor, csr: CSR, many: int) -> None:
    kept, entry_module.MANY = entry_module.MANY, many
    try:
        entry_module.entry_products(left, right, csr)
    finally:
        entry_module.MANY = kept


def dropouts(quick: bool) -> Part:
    """Dropout of activations, forward and backward."""
    rows = []
    for count in (2**16,) if quick else (2**16, 2**20, 2**24):
        x = torch.randn(count // 64, 64, requires_grad=True)
        grad = torch.ones_like(x)
        calls: Calls = {
            "random bytes (ours)": lambda x=x, g=grad: torch.autograd.grad(
                dropout(x, 0.8, stream(0)), x, g
            ),
            "F.dropout": lambda x=x, g=grad: torch.autograd.grad(F.dropout(x, 0.8), x, g),
        }
        rows.append(timed(f"{count:,} numbers", calls))
    return {"title": "Dropout", "what": "forward and backward", "rows": rows}


def dropped_products(quick: bool) -> Part:
    """Dropout and the product that follows it, forward and backward."""
    rows = []
    weight = torch.randn(128, 128, requires_grad=True)
    for count in (2**16,) if quick else (2**18, 2**20, 2**22, 2**24, 2**26):
        x = torch.randn(count // 128, 128, requires_grad=True)
        calls: Calls = {
            "by blocks": lambda x=x: _dropped(x, weight, large=0),
            "whole": lambda x=x: _dropped(x, weight, large=2**60),
        }
        rows.append(timed(f"{count:,} numbers", calls))
    finding = f"The code goes by blocks from {feature_module.LARGE:,} numbers on."
    what = "times 128 columns, forward and backward"
    return {"title": "Dropout before a product", "what": what, "rows": rows, "finding": finding}


def _dropped(x: Tensor, weight: Tensor, large: int) -> None:
    kept, feature_module.LARGE = feature_module.LARGE, large
    try:
        out = DenseFeatures(x).dropout(0.5, stream(0, "kernel")).linear(weight)
    finally:
        feature_module.LARGE = kept
    torch.autograd.grad(out, (x, weight), torch.ones_like(out))


def non_edges(quick: bool) -> Part:
    """As many non-edges as the targets of a step."""
    rows = []
    for nodes, pairs in [(2_708, 5_000), (20_000, 44_000), (170_000, 1_150_000)][
        : 1 if quick else 3
    ]:
        graph = generate(nodes, pairs, num_features=0)
        count = int(1.4 * pairs)
        both = torch.cat([graph.pairs, graph.pairs.flip(0)], dim=1)
        pool = NonEdges(graph)
        calls: Calls = {
            "by rank (ours)": lambda pool=pool, k=count: pool.sample(k, stream(0)),
            "PyG negative_sampling": lambda e=both, n=nodes, k=count: negative_sampling(e, n, k),
        }
        rows.append(timed(f"{count:,} of {nodes:,} nodes", calls))
    return {"title": "Non-edges", "what": "a draw", "rows": rows}


def pair_chunks(quick: bool) -> Part:
    """The decoder's loss with its gradients, by the size of its chunks."""
    from maskgae.nn import losses as objective

    kept, rows = objective.CACHE_NUMBERS, []
    sizes = (2**16, 2**18, 2**20, 2**22, 2**40)
    for nodes, targets in [(2_708, 7_000), (20_000, 60_000), (170_000, 500_000)][
        : 1 if quick else 3
    ]:
        row: dict[str, Any] = {"name": f"{targets:,} targets of {nodes:,} nodes", "ms": {}}
        call = _pair_loss(nodes, targets)
        for size in sizes:
            objective.CACHE_NUMBERS = size
            label = "one chunk" if size == sizes[-1] else f"{4 * size / 2**20:g} MiB"
            row["ms"][label] = 1e3 * seconds(call, repeats=3)
        rows.append(row)
    objective.CACHE_NUMBERS = kept
    finding = f"The code takes chunks of {4 * kept / 2**20:g} MiB."
    return {"title": "Chunks of pairs", "what": "chunks of", "rows": rows, "finding": finding}


def pair_ways(quick: bool) -> Part:
    """Pairs by torch's operations or by compiled loops, both ways through the decoder."""
    kept, rows = products.MANY, []
    for nodes, targets in [(2_708, 7_000), (20_000, 60_000), (7_600, 160_000), (170_000, 500_000)][
        : 1 if quick else 4
    ]:
        row: dict[str, Any] = {"name": f"{targets:,} targets of {nodes:,} nodes", "ms": {}}
        call = _pair_loss(nodes, targets)
        for name, many in (("torch", 2**60), ("compiled loops", 0)):
            products.MANY = many
            row["ms"][name] = 1e3 * seconds(call)
        rows.append(row)
    products.MANY = kept
    finding = f"The code takes the loops from {kept // 128:,} targets with 64 columns on."
    return {"title": "Products of pairs", "what": "both ways", "rows": rows, "finding": finding}


def _pair_loss(nodes: int, targets: int) -> Callable[[], None]:
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(nodes, 64, generator=generator, requires_grad=True)
    decoder = MLP(64, DecoderConfig())
    decoder.reset_parameters(generator)
    # Sorted by their first node, as the pairs and the non-edges of a graph are.
    first, second = (
        pairs[:, pairs[0].argsort()]
        for pairs in torch.randint(nodes, (2, 2, targets), generator=generator)
    )
    return lambda: pair_loss(z, decoder, first, second, bce, stream(0)).backward()


def numpy_or_torch(quick: bool) -> Part:
    """What NumPy does faster on one thread, and is therefore asked to."""
    count = 2**14 if quick else 2**20
    drawn = torch.randint(256, (count,), dtype=torch.uint8)
    flags, x = drawn < 51, -torch.rand(count)
    tasks: dict[str, Calls] = {
        "bytes below a threshold": {
            "NumPy (ours)": lambda: drawn.numpy() < 51,
            "torch": lambda: drawn < 51,
        },
        "positions of flags": {
            "NumPy (ours)": lambda: np.flatnonzero(flags.numpy()),
            "torch": lambda: flags.nonzero(),
        },
        "expm1": {"NumPy (ours)": lambda: np.expm1(x.numpy()), "torch": x.expm1},
    }
    rows = [timed(f"{name}, {count:,}", calls) for name, calls in tasks.items()]
    return {"title": "NumPy or torch", "what": "a call", "rows": rows}


PARTS = (
    numpy_or_torch,
    sparse_products,
    dense_products,
    break_even,
    entry_products,
    dropouts,
    dropped_products,
    non_edges,
    pair_chunks,
    pair_ways,
)


def measure(quick: bool, names: Sequence[str]) -> Iterator[Part]:
    """The named parts, one after another."""
    warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
    for part in PARTS:
        if part.__name__ in names:
            yield part(quick)


def main(given: Sequence[str] | None = None) -> None:
    from benchmarks.render import kernel_table

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, for a look")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--results", type=Path, default=RESULTS, help="folder to write to")
    names = [part.__name__ for part in PARTS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    options = parser.parse_args(given)
    torch.set_num_threads(options.threads)
    out, found = options.results / "kernels.json", {}
    if out.exists() and options.only != names:
        found = {part["title"]: part for part in json.loads(out.read_text())["parts"]}
    for part in measure(options.quick, options.only):
        found[part["title"]] = part
        print(f"\n{part['title']}\n\n{kernel_table(part)}", flush=True)
    options.results.mkdir(parents=True, exist_ok=True)
    about = {"machine": machine.describe(), "quick": options.quick}
    out.write_text(json.dumps(about | {"parts": list(found.values())}, indent=1) + "\n")


if __name__ == "__main__":
    main()
