"""The benchmark's own pieces, on a graph of 300 nodes."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from maskgae.base.rng import stream
from maskgae.datasets.generated import generate
from maskgae.lab.tables.blocks import filled
from maskgae.nn.adjacency import Adjacency
from maskgae.nn.blocks import ALL, Sampler

ROOT = Path(__file__).parents[1]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch):
    """Imports a module of ``benchmarks``, which is not installed."""
    monkeypatch.syspath_prepend(ROOT)

    def load_module(name: str) -> ModuleType:
        return importlib.import_module(f"benchmarks.{name}")

    return load_module


@pytest.fixture
def ask(load, tmp_path: Path):
    """The answer of one measurement on the tiny graph."""

    def answer(task: str, *options: str) -> dict:
        out = tmp_path / "answer.json"
        threads = str(torch.get_num_threads())
        given = [task, "tiny", "--out", str(out), "--threads", threads, *options]
        load("measure").main(given)
        return json.loads(out.read_text())

    return answer


def test_sides_alternate_on_the_same_targets(ask):
    pace = ("--least", "2", "--most", "2", "--budget", "0")
    found = ask("steps", "--sides", "plain", "plain-csr", "ours", *pace)
    assert found["nodes"] == 300
    # 0.7 of both directions of the 1,140 training pairs, within four standard deviations.
    assert abs(found["targets"] - 0.7 * 2280) < 4 * (2280 * 0.21) ** 0.5
    assert set(found["sides"]) == {"plain", "plain-csr", "ours"}
    assert all(len(side["all_ms"]) == 2 for side in found["sides"].values())


def test_plain_layouts_agree(load):
    case, plain = load("cases").TINY, load("plain")
    graph, validation = case.data()
    edges, csr = (
        plain.PlainTraining(graph, case.settings, validation, layout) for layout in ("edges", "csr")
    )
    assert edges.validate() == pytest.approx(csr.validate(), abs=1e-4)


def test_plain_encoder_equals_ours(load):
    case, plain = load("cases").TINY, load("plain")
    graph, validation = case.data()
    theirs = plain.PlainTraining(graph, case.settings, validation).encoder.eval()
    ours = load("sides").Ours(case, graph, validation, 0).trainer.net.encoder.eval()
    with torch.no_grad():
        for conv, other in zip(ours.convs, theirs.convs, strict=True):
            conv.lin.weight.copy_(other.lin.weight.T)
        visible = Adjacency.of(graph)
        edge_index = torch.stack([visible.csr.row_of_entry(), visible.csr.indices])
        z = ours(graph.features, [visible, visible])[-1]
        torch.testing.assert_close(
            z, theirs(graph.features.dense(), edge_index), atol=1e-4, rtol=1e-4
        )


def test_a_cut_pass_is_extrapolated(load, monkeypatch: pytest.MonkeyPatch):
    case = load("cases").TINY
    monkeypatch.setattr(load("plain"), "BATCH", 100)
    side = load("sides").Plain(case, *case.data(), "edges")
    cut = side.run(limit=0.0)
    assert cut.updates == 2
    assert cut.of > 10
    assert cut.wall > 0


@pytest.mark.parametrize("side", ["plain", "ours", "ours-batched", "ours-often"])
def test_curves_end_at_their_budget(ask, side: str):
    curve = ask("curve", "--sides", side, "--updates", "4")
    assert curve["updates"] == [2, 4]
    assert curve["seconds"] == sorted(curve["seconds"])
    assert all(0 <= value <= 1 for value in curve["auc"])


def test_parts_add_up_and_are_taken_off_again(ask, load):
    before = Adjacency.__dict__["of"]
    found = ask("parts", "--least", "10")
    assert all(value > 0 for value in found["stages"].values())
    assert Adjacency.__dict__["of"] is before


def test_work_is_counted_from_shapes(ask, load):
    work = ask("roofline")
    settings = load("cases").TINY.settings
    # Two layers of 128 -> 128 -> 64 columns on 300 nodes.
    assert work["encoder forward"]["flops"] == 2 * 300 * (128 * 128 + 128 * 64)
    assert work["decoder and loss"]["noise"] % settings.encoder.dim == 0


def test_tables_fill_the_page(ask, load):
    render = load("render")
    report = {"rates": load("machine").rates(quick=True), "scaling": []}
    report |= {"machine": load("machine").describe(), "date": "today"}
    case = ask("steps", "--least", "1", "--most", "1", "--budget", "0")
    case |= {"published": {"node": 1.0}, "parts": ask("parts"), "memory": {}}
    report["cases"] = {"tiny": case | {"work": ask("roofline")}}
    page = filled((ROOT / "docs" / "performance.md").read_text(), render.tables(report))
    assert page.count("| tiny |") >= 2
    assert filled(page, render.tables(report)) == page


def test_a_measurement_that_fails_is_reported(load, monkeypatch: pytest.MonkeyPatch):
    speed = load("speed")
    runner = speed.Runner(speed.arguments(["--quick"]))
    killed = speed.subprocess.CompletedProcess([], returncode=-15)
    monkeypatch.setattr(speed.subprocess, "run", lambda *args, **kwargs: killed)
    assert runner.ask("steps", "tiny", sides=("plain", "ours")) is None
    assert runner.failures == ["tiny: steps plain ours ended with code -15"]
    rates = load("machine").rates(quick=True)
    report = {"machine": load("machine").describe(), "rates": rates, "date": "today"}
    assert runner.failures[0] in load("render").machine(report | {"failures": runner.failures})


def test_a_partial_run_keeps_what_others_could_not_measure(
    load, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    speed = load("speed")
    old = {"failures": ["Cora: curve plain given up", "tiny: steps ours ended with code 1"]}
    (tmp_path / "speed.json").write_text(json.dumps(old))
    monkeypatch.setattr(speed.Runner, "ask", lambda *args, **options: None)
    monkeypatch.setattr(speed, "finish", lambda *args: None)
    speed.main(["--only", "tiny", "--quick", "--results", str(tmp_path)])
    report = json.loads((tmp_path / "speed.json").read_text())
    assert report["failures"] == ["Cora: curve plain given up"]


def test_chart_is_drawn(load, tmp_path: Path):
    pytest.importorskip("matplotlib")
    side = {"ms": 10.0}
    case = {"sides": {"plain": side, "ours": side}, "parts": {"stages": {"mask": 1.0, "rest": 2.0}}}
    sizes = [{"nodes": 10, "ms": 1.0}, {"nodes": 20, "ms": 2.0}]
    load("chart").draw({"cases": {"tiny": case}, "scaling": sizes}, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"speed.png", "speed.svg"}


def test_break_even_is_where_times_cross(load):
    rows = [{"density": d, "ms": {"a": t, "b": 2.0}} for d, t in ((0.1, 1.0), (0.2, 3.0))]
    assert load("kernels").crossing(rows, "a", "b") == pytest.approx(0.15)


def test_growth_is_carried_on_to_a_billion(load):
    cost = {"cpu_s": 10.0, "seconds": 20.0, "anonymous_mb": 500.0, "mapped_mb": 100.0}
    outcome = {
        "val_auc": [0.8, 0.9],
        "auc": 0.91,
        "best_sanity": ["untrained", 0.85],
        "pairs_per_s": 1e4,
        "fanouts": [3],
        "updates": 200,
    }
    sizes = {
        str(pairs): {
            "pairs": pairs,
            "nodes": pairs // 10,
            "store_mb": pairs / 1e4,
            "generate": cost,
            "fit": cost | outcome | {"anonymous_mb": pairs / 1e4},
            "embed": cost | {"cpu_s": pairs / 1e6},
        }
        for pairs in (10**6, 10**7)
    }
    found = load("growth").tables({"sizes": sizes})
    # 1e-4 MiB of store a pair, and 3e8 targets at 1e4 a second.
    assert "| 1 | 97.7 GiB | 97.7 GiB | 4,578 | 8.3 h |" in found["billion"]
    assert "80.0 → 90.0" in found["training"] and "85.0 (untrained)" in found["training"]
    assert found["machine"] == "Not measured yet."
    assert load("growth").tables({})["billion"] == "Not measured yet."


def test_a_command_is_watched_from_outside(load, tmp_path: Path):
    command = [sys.executable, "-c", "x = b'1' * 10**8; import time; time.sleep(0.5)"]
    found = load("scale").watched(command, tmp_path / "log")
    assert found["seconds"] > 0.5 and found["anonymous_mb"] > 95
    with pytest.raises(SystemExit, match="failed"):
        load("scale").watched([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "log")


@pytest.mark.parametrize(
    ("name", "page"),
    [
        ("overlap", "analysis.md"),
        ("batches", "scale.md"),
        ("scale", "scale.md"),
        ("rate", "performance.md"),
    ],
)
def test_pages_say_what_was_measured(load, name: str, page: str):
    module, text = load(name), (ROOT / "docs" / page).read_text()
    if not module.RESULT.exists():
        pytest.skip("not measured yet")
    make = module.blocks if name == "overlap" else module.tables
    assert filled(text, make(json.loads(module.RESULT.read_text()))) == text


def test_a_row_of_several_ranks_is_torchruns(load, tmp_path: Path):
    row = load("batches").Row("PubMed", 4096, ranks=2, updates=5)
    words = " ".join(row.command(["edges.csv"], tmp_path))
    assert "torch.distributed.run --nproc-per-node 2 -m maskgae fit edges.csv" in words
    assert "--batch-pairs 4096 --threads 1 --set training.max_steps=5" in words


def test_pairs_a_second_are_the_processors_where_the_machine_was_busy(load):
    rate = load("rate")
    one = {"wall_s": 4.0, "cpu_s": 2.0, "peak_mb": 1000.0, "load": 9.0}
    ranks = one | {"cpu_s": 1.25}
    size = {"one core": one, "two cores": one, "two ranks": ranks, "cut": {"ours": 0.1, "NumPy": 2}}
    report = {"sizes": {"10000000": size}, "date": "today"}
    found = rate.tables(report | {"machine": {"cpu": "C", "cores": 2, "torch": "2"}})["rate"]
    assert "| 10,000,000 | 32,768 | – | – | 52,429 | 1.60 | 1,000 MB | 100 ms | 2,000 ms |" in found
    quiet = {way: one | {"load": 1.0} for way in ("one core", "two cores")}
    assert rate.pairs_per_second(quiet, "two cores") == 65536 / 4
    assert rate.tables({}) == {"rate": "Not measured yet."}


def test_a_plain_sampler_reaches_what_ours_does(load):
    graph = load("cases").TINY.load()
    visible, seeds = torch.ones(graph.num_pairs, dtype=torch.bool), torch.arange(0, 300, 30)
    plain = load("plain_sampler").numpy_blocks
    reached = plain(graph, visible.numpy(), seeds.numpy(), (10**6, 10**6), stream(0))
    ours = Sampler(graph, visible).blocks(seeds, [ALL, ALL])
    assert reached[-1].tolist() == sorted(ours.nodes.tolist())
    few = plain(graph, visible.numpy(), seeds.numpy(), (2,), stream(0))[-1]
    assert seeds.numel() < len(few) <= 3 * seeds.numel()


def test_waits_stand_by_way_and_by_part(load):
    found = {"wall_s": 9.0, "cpu_s": 12.0, "threads": 2, "metrics": {"rank_hits@10": 0.5}}
    quick = {**found, "parts": {"start": [2.0, 1.0], "page": [7.0, 11.0]}, "load": 0.5}
    fit = {**found, "parts": {"start": [2.0, 1.0]}, "load": 9.0}
    about = {"cpu": "a processor", "cores": 2, "torch": "2"}
    graphs = {"Cora": {"edges": 5278, "quick": quick, "fit": fit}}
    tables = load("waits").tables({"graphs": graphs, "machine": about, "date": "2026-11-18"})
    assert "| Cora | 5,278 | 9 (50.0) | – | 12 (50.0) | – | – | – |" in tables["waits"]
    assert "load up to 9" in tables["waits"]
    assert "| Cora, fit --quick | 2.0 | 0.0 | 0.0 | 0.0 | 0.0 | 7.0 |" in tables["waits_parts"]
    assert "| Cora, fit | 1.0 |" in tables["waits_parts"]


def test_time_to_quality_is_that_of_what_all_targets_reach(load):
    all_targets = [[10, 4.0, 0.90, 0.2], [20, 8.0, 0.99, 0.3]]
    some = [[10, 1.0, 0.985, 0.2], [20, 2.0, 0.99, 0.25]]
    graphs = {"Cora": {"all": {"0": all_targets}, "8,192": {"0": some, "1": some}}}
    found = load("stopping").tables({"graphs": graphs})["stopping"].splitlines()
    assert found[2] == "| Cora | all | 1 | 0.40 s | 8 s | 99.00 | 30.00 | 8 s | 8 s |"
    assert found[3] == "| Cora | 8,192 | 1 | 0.10 s | 2 s | 99.00 | 25.00 | 1 s | 0 of 1 |"


def test_candidates_are_compared_on_nodes_that_links_does_not_take(
    load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    candidates = load("candidates")
    monkeypatch.setattr("maskgae.run.links.EXACT_PAIRS", 100)
    monkeypatch.setattr(candidates, "ASKED", 40)
    pairs = generate(200, 600, num_features=4, communities=4, seed=0).pairs
    lines = [f"{u},{v}" for u, v in pairs.T.tolist()]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *lines]))
    report = candidates.measured(str(tmp_path))
    assert report["found"]["asked"] == 40 and 0.9 < report["found"]["recall"] <= 1
    assert report["nodes"] == 200 and report["found"]["links"] > 1900
    known = torch.randperm(200, generator=stream(0, "recall").torch())[:40]
    assert not torch.isin(candidates.unseen(200), known).any()
    table = candidates.blocks({"tiny": report})["candidates"]
    assert "% (40 nodes) |" in table.splitlines()[2]


def test_the_page_has_the_candidates_that_were_measured(load):
    candidates = load("candidates")
    text = candidates.PAGE.read_text()
    assert filled(text, candidates.blocks(json.loads(candidates.RESULT.read_text()))) == text
