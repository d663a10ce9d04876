"""Runs on the Hugging Face hub: a run folder with a model card, saved, fetched and sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskgae.base.display import METRIC_NAMES, ROW_NAMES, printable
from maskgae.base.errors import InputError
from maskgae.base.settings import Settings

if TYPE_CHECKING:
    from maskgae.run.run import Run

TAGS = ("graph-machine-learning", "link-prediction", "node-embeddings", "maskgae")

USE = """```python
from maskgae import Run

run = Run.from_pretrained("{name}")
run.links(top=3)  # the strongest missing links of each node
run.embedding  # a row for each node of run.ids
```"""


def hub() -> Any:
    """The package that talks to the hub."""
    try:
        import huggingface_hub
    except ImportError:
        raise InputError(
            "huggingface_hub is not installed: pip install huggingface_hub, or give a folder"
        ) from None
    return huggingface_hub


def fetched(name: str | Path, **how: Any) -> Path:
    """The folder of that name, or else what the hub has under it, fetched.

    Args:
        name: a folder, or a repository such as ``user/name``.
        how: arguments of ``huggingface_hub.snapshot_download``, such as ``revision``.
    """
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(hub().snapshot_download(str(name), **how))
    except (OSError, ValueError) as error:  # which the hub's own errors are
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"{name} is no folder, and the hub does not give it: {reason}") from error


def sent(folder: Path, repo_id: str, **how: Any) -> str:
    """Sends a run folder to the hub and returns where it is; see ``HfApi.upload_folder``."""
    private = how.pop("private", None)
    api = hub().HfApi(token=how.pop("token", None))
    api.create_repo(repo_id, private=private, exist_ok=True)
    return str(api.upload_folder(repo_id=repo_id, folder_path=str(folder), **how))


def model_card(run: Run, name: str) -> str:
    """The ``README.md`` of a run: what it is, what it reaches beside simple rules, how to use it.

    Args:
        name: of the repository or folder, for the example.
    """
    graph, facts = run.graph, {"nodes": run.graph.num_nodes, "edges": run.graph.num_pairs}
    lines = [
        *_metadata(run),
        f"# {_plain(graph.name)}",
        "Node embeddings and a link predictor by masked graph modelling "
        "([MaskGAE](https://doi.org/10.1145/3580305.3599546)), trained without labels on a graph "
        f"of {facts['nodes']:,} nodes and {facts['edges']:,} edges.",
        "**The folder holds the graph itself**, with the names and features of its nodes.",
        USE.format(name=_plain(name)),
        *_measured(run),
        "## Settings that differ from the defaults",
        "\n".join(f"- `{key} = {value}`" for key, value in _differing(run.settings)) or "None.",
    ]
    return "\n\n".join(lines) + "\n"


def _metadata(run: Run) -> list[str]:
    """What the hub reads, as YAML in the JSON way; metrics as fractions."""
    task = {"type": "graph-ml", "name": "link prediction"}
    dataset = {"type": "graph", "name": str(run.graph.name)}
    values = [{"type": k, "value": v} for k, v in run.metrics.items() if k in METRIC_NAMES]
    index = {"name": "maskgae", "results": [{"task": task, "dataset": dataset, "metrics": values}]}
    about: dict[str, Any] = {
        "library_name": "maskgae",
        "pipeline_tag": "graph-ml",
        "tags": list(TAGS),
    }
    if values:
        about["model-index"] = [index]
    return ["---\n" + "\n".join(f"{k}: {json.dumps(v)}" for k, v in about.items()) + "\n---"]


def _measured(run: Run) -> list[str]:
    """The record as a table, heuristic baselines below the run."""
    metrics = run.record.get("metrics", {})
    names = [name for name in METRIC_NAMES if name in metrics]
    if not names:
        return ["Nothing was held out, so nothing was measured."]
    rows = {"this run": metrics} | {
        ROW_NAMES.get(row, row): found for row, found in run.record.get("sanity", {}).items()
    }
    table = [["%", *(METRIC_NAMES[name] for name in names)], ["---", *["---:"] * len(names)]]
    for row, found in rows.items():
        cells = [f"{100 * found[n]['mean']:.2f}" if n in found else "–" for n in names]
        table.append([row, *cells])
    text = "\n".join(f"| {' | '.join(row)} |" for row in table)
    return ["## Measured on held-out edges", text]


def _differing(settings: Settings) -> list[tuple[str, Any]]:
    usual = Settings().flat()
    return [(key, value) for key, value in settings.flat().items() if value != usual[key]]


def _plain(name: str) -> str:
    """A name as one line in which Markdown finds nothing to obey."""
    return "".join("\\" + c if c in "\\`*_[]<>#|" else c for c in printable(name))
