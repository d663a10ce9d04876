"""Files to ingest, and what a store must equal."""

from pathlib import Path
from typing import Any

from maskgae.data import Features, SparseFeatures
from maskgae.io import build_graph, fit_encoder, read_edges, read_nodes
from maskgae.store.store import Store


def in_memory(edges: Path, nodes: Path | None = None, label: str | None = None) -> Any:
    listed = read_edges(edges)
    if nodes is None:
        return build_graph(listed)
    table = read_nodes(nodes, ids=listed.ids)
    return build_graph(listed, table, fit_encoder(table, label))


def same_features(ours: Features | None, expected: Features | None) -> bool:
    if ours is None or expected is None:
        return ours is expected
    kinds = isinstance(ours, SparseFeatures) == isinstance(expected, SparseFeatures)
    return kinds and ours.dense().equal(expected.dense())


def assert_same(store: Store, built: Any) -> None:
    ours, expected = store.graph, built.graph
    assert store.ids.tolist() == built.ids.tolist()
    assert store.ids.dtype == built.ids.dtype
    assert ours.num_nodes == expected.num_nodes
    assert ours.pairs.long().equal(expected.pairs)
    for name in ("indptr", "indices"):
        found = getattr(ours.structure.csr, name)
        assert found.long().equal(getattr(expected.structure.csr, name))
    assert ours.structure.pair_of_entry.long().equal(expected.structure.pair_of_entry)
    for name in ("weights", "labels"):
        found, wanted = getattr(ours, name), getattr(expected, name)
        assert found is wanted is None or found.equal(wanted)
    assert same_features(ours.features, expected.features)
    assert ours.cleaning == expected.cleaning
    assert ours.name == expected.name
    assert store.notes == built.notes
    assert store.label_names == built.label_names


def write_csv(path: Path, rows: Any, head: str = "source,target") -> Path:
    lines = [head, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def content(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
