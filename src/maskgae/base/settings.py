"""Settings: one frozen dataclass per concern; ``maskgae settings`` shows each field's text.

Keys are dotted (``mask.p``). Values come from, later ones winning: defaults, a preset, a TOML
file, ``--set key=value``, a named flag. An unknown key is an error that names the nearest one.

>>> settings = Settings().updated({"mask.p": 0.5, "encoder.kind": "sage"})
>>> settings.mask.p, settings.encoder.kind
(0.5, 'sage')
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from maskgae.base.errors import InputError, nearest
from maskgae.base.fields import Rule, rules_of, setting


@dataclass(frozen=True)
class MaskConfig:
    """What is hidden from the encoder at each step."""

    kind: str = setting(
        "edge",
        "edge: hide edges at random; path: hide the edges of random walks; none: plain autoencoder",
        choices=("edge", "path", "none"),
    )
    p: float = setting(
        0.3, "edge masks: chance of an edge to be hidden", low=0, high=1, open_ends=True
    )
    q: float = setting(
        0.2,
        "path masks: chance of a node, or of an edge in either direction, to be a root",
        low=0,
        high=1,
        open_ends=True,
    )
    roots: str = setting(
        "node", "path masks: what the roots are drawn from", choices=("node", "edge")
    )
    length: int = setting(0, "path masks: steps of a walk; 0 means encoder layers + 1", low=0)
    bias_p: float = setting(1.0, "path masks: node2vec's return parameter", low=0, open_ends=True)
    bias_q: float = setting(1.0, "path masks: node2vec's in-out parameter", low=0, open_ends=True)
    semantics: str = setting(
        "strict",
        "strict: a masked (supervision) edge is invisible in both directions; reference: as the "
        "published code, which draws each direction on its own",
        choices=("strict", "reference"),
    )
    folds: int = setting(
        5,
        "where encoder.structure makes inputs from edges: parts of the edges, of which each mask "
        "hides one, so that the inputs are made without the masked (supervision) edges",
        low=2,
        high=100,
    )


@dataclass(frozen=True)
class EncoderConfig:
    """The network that turns the visible graph into node embeddings."""

    kind: str = setting(
        "gcn",
        "graph convolution; none: no network, the joined inputs and the rules alone",
        choices=("gcn", "sage", "gat", "none"),
    )
    layers: int = setting(2, "number of layers", low=1, high=100)
    hidden: int = setting(128, "width of every layer but the last", low=1)
    dim: int = setting(64, "width of the last layer", low=1)
    dropout: float = setting(0.5, "dropout before every layer", low=0, high=0.996)
    norm: str = setting(
        "batch", "normalisation after every layer", choices=("batch", "layer", "none")
    )
    activation: str = setting("elu", "after every layer", choices=("elu", "relu", "prelu", "none"))
    heads: int = setting(4, "attention heads of every layer but the last (gat)", low=1)
    structure: int = setting(
        0,
        "columns made from the edges, degrees and leading eigenvectors, beside or instead of "
        "features; 0: none",
        low=0,
    )
    node_embedding: int = setting(
        0, "width of a learnable embedding per node, beside or instead of features; 0: none", low=0
    )


@dataclass(frozen=True)
class DecoderConfig:
    """The heads that predict masked edges and masked degrees."""

    kind: str = setting(
        "mlp", "on the element-wise product of two embeddings", choices=("mlp", "dot")
    )
    hidden: int = setting(32, "width of the hidden layers", low=1)
    layers: int = setting(2, "number of layers", low=1, high=100)
    dropout: float = setting(0.2, "dropout before every hidden layer", low=0, high=0.996)


@dataclass(frozen=True)
class ObjectiveConfig:
    """What the training minimises."""

    loss: str = setting(
        "bce",
        "loss on masked edges and negative samples; bce is the paper's",
        choices=("bce", "auc", "info_nce", "softmax"),
    )
    alpha: float = setting(0.0, "weight of the degree loss", low=0)
    negatives: int = setting(
        1, "negative samples per masked edge; where they keep an end of it, per end", low=1
    )
    corrupt: str = setting(
        "none",
        "none: negative samples are any non-edges, as published; or they keep an end of their "
        "masked edge, the other drawn even: evenly, degree: by degree, mixed: half and half",
        choices=("none", "even", "degree", "mixed"),
    )
    temperature: float = setting(
        1.0, "what logits are divided by in the loss", low=0, open_ends=True
    )


@dataclass(frozen=True)
class TrainingConfig:
    """How long and how fast to train, and which weights to keep."""

    epochs: int = setting(500, "at most this many passes", low=1)
    max_steps: int = setting(0, "stop after this many updates; 0: no limit", low=0)
    patience: int = setting(
        30, "stop when validation has not risen for this many epochs; 0: never", low=0
    )
    eval_every: int = setting(10, "epochs between two validations", low=1)
    select: str = setting(
        "val_auc",
        "keep the best weights by validation AUC, by the mean 1 / rank of validation partners "
        "among all nodes or, val_hard, of validation edges among their hard negatives, or the last",
        choices=("val_auc", "val_rank", "val_hard", "last"),
    )
    lr: float = setting(0.01, "learning rate of Adam", low=0, open_ends=True)
    weight_decay: float = setting(5e-5, "weight decay of Adam", low=0)
    clip: float = setting(1.0, "largest norm of the gradient; 0: no clipping", low=0)
    average: float = setting(
        0.0,
        "decay of the exponential moving average (EMA) of the weights; 0: off",
        low=0,
        high=0.99999,
    )
    batch_pairs: int = setting(
        0, "batch size: masked (supervision) edges per update; 0: all of them at once", low=0
    )
    fanouts: tuple[int, ...] = setting(
        (),
        "neighbours sampled per hop, one number per hop from the masked edges on, the last one for "
        "all further hops, -1 for all neighbours; empty: the whole visible graph",
        low=-1,
    )
    batches: str = setting(
        "random",
        "random: masked edges come in any order; shared: those with a common end come together, "
        "and negative samples join few nodes, so that an update on sampled neighbours needs fewer",
        choices=("random", "shared"),
    )
    epoch_steps: int = setting(
        0, "end an epoch after this many updates; 0: when every masked edge had its turn", low=0
    )
    checkpoint_every: str = setting(
        "60s",
        "time between two checkpoints of a fit, 10 for epochs or 60s for seconds; "
        "0: only when it is stopped",
        pattern=r"[0-9]{1,9}s?",
    )


@dataclass(frozen=True)
class EmbeddingConfig:
    """What comes out of a trained network."""

    layers: str = setting(
        "all", "every layer's output side by side, or the last", choices=("all", "last")
    )
    normalize: str = setting(
        "none",
        "l2: rows of length one; l2_each: each layer's part of a row of length one",
        choices=("none", "l2", "l2_each"),
    )
    propagated: int = setting(
        0, "hops of smoothed features (SGC) appended beside the layers; 0: none", low=0
    )
    parts: str = setting(
        "layers",
        "layers: of the network alone; both: beside them the joined inputs, which are features, "
        "smoothed features and eigenvectors of the edges, in 'columns' columns",
        choices=("layers", "both"),
    )
    columns: int = setting(256, "columns of the embedding where parts = both", low=1)
    weight: float = setting(
        0.7, "length of each layer's rows beside the joined inputs, where parts = both", low=0
    )
    power: float = setting(
        1.0,
        "to which the singular values of the joined inputs are raised, where parts = both; above "
        "1, what many nodes share counts for more",
        low=0,
        high=10,
    )


@dataclass(frozen=True)
class ScorerConfig:
    """What scores a pair of nodes."""

    kind: str = setting(
        "network",
        "network: the decoder's logit alone, as published; combined: with rules such as common "
        "neighbours, weighted on validation edges where that ranks better",
        choices=("network", "combined"),
    )
    rules: str = setting(
        "few",
        "which rules are combined; few: counts, paths, degrees and cosines of features; all: also "
        "features smoothed over nodes of like features, up to 10,000 nodes, and the low-rank "
        "adjacency of dense graphs",
        choices=("few", "all"),
    )


@dataclass(frozen=True)
class ProbeConfig:
    """The linear classifier that judges embeddings by labels."""

    kind: str = setting(
        "logistic",
        "logistic: regression with its penalty chosen on validation; adam: as published",
        choices=("logistic", "adam"),
    )
    grid: tuple[float, ...] = setting(
        (0.01, 0.1, 1.0, 10.0, 100.0),
        "inverse penalties tried (logistic) or weight decays (adam)",
        low=0,
    )
    random_splits: int = setting(
        5, "random node splits judged beside a public one, of its sizes", low=0
    )


@dataclass(frozen=True)
class SplitConfig:
    """Which edges are held out, and what the encoder may see when they are scored."""

    val: float = setting(0.05, "share of the edges held out for validation", low=0, high=1)
    test: float = setting(0.10, "share of the edges held out for the test", low=0, high=1)
    message_edges: str = setting(
        "train_val",
        "message-passing edges of the encoder at the test",
        choices=("train", "train_val"),
    )
    hard_negatives: int = setting(
        0, "hard negative samples that each test edge is ranked against; 0: none", low=0
    )
    hard_rule: str = setting(
        "ours",
        "what is hard: ours, ranked over all scores above zero and never an edge; heart: as the "
        "published code of HeaRT has it, ties and overwritten ranks included, on training edges",
        choices=("ours", "heart"),
    )
    ranked_ends: int = setting(
        0,
        "ends that ask for their partners among all nodes at the test, at most; 0: as many as take "
        "minutes, or seconds where nothing was trained",
        low=0,
    )
    val_from: str = setting(
        "",
        "with times: edges from this time on, a number or a date, are for validation; empty: the "
        "last of the share",
        pattern=r"[0-9eE.:/T +-]*",
    )
    test_from: str = setting("", "the same of the test", pattern=r"[0-9eE.:/T +-]*")
    known: float = setting(
        1 / 3,
        "with times: share of the edges of a node that is new at the test, or at validation, which "
        "pass messages; the others are to be found",
        low=0,
        high=1,
    )


@dataclass(frozen=True)
class Settings:
    """All settings of one run."""

    seed: int = setting(0, "random seed of the run", low=0)
    mask: MaskConfig = field(default_factory=MaskConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    decoder: DecoderConfig = field(default_factory=DecoderConfig)
    objective: ObjectiveConfig = field(default_factory=ObjectiveConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    embedding: EmbeddingConfig = field(default_factory=EmbeddingConfig)
    scorer: ScorerConfig = field(default_factory=ScorerConfig)
    probe: ProbeConfig = field(default_factory=ProbeConfig)
    split: SplitConfig = field(default_factory=SplitConfig)

    def flat(self) -> dict[str, Any]:
        """All settings by dotted key."""
        return {key: _get(self, key) for key in KEYS}

    def updated(self, values: Mapping[str, Any]) -> Settings:
        """A copy with some dotted keys set; every value is checked."""
        result = self
        for key, value in values.items():
            if key not in KEYS:
                name = key if len(key) <= 80 else f"{key[:80]}..."
                raise InputError(
                    f"no setting is called '{name}': {nearest(key, KEYS)}; see 'maskgae settings'"
                )
            result = _set(result, key, _RULES[key].checked(value))
        _check_grid(result.probe)
        _check_network(result)
        return result

    def changed(self) -> dict[str, Any]:
        """The settings that differ from the defaults, of those that tell runs apart."""
        defaults = Settings().flat()
        return {k: v for k, v in self.flat().items() if k not in APART and v != defaults[k]}

    def digest(self) -> str:
        """Sixteen hex digits that stand for all settings but the seed.

        Only what differs from the defaults counts, so that a new setting leaves old digests alone.
        """
        text = json.dumps(self.changed(), sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


_RULES: dict[str, Rule] = rules_of(Settings)
KEYS: tuple[str, ...] = tuple(_RULES)

#: The settings that change nothing of what comes out.
WITHOUT_EFFECT = ("training.checkpoint_every",)
#: Not what a cell is about: its runs differ in the seed.
APART = ("seed", *WITHOUT_EFFECT)


def help_text(key: str) -> str:
    """The one description of a setting, shown by help, docs and errors alike."""
    return _RULES[key].help


def range_text(key: str) -> str:
    """What a setting may be, where its text does not say so: words, or a range with two ends.

    >>> range_text("mask.p"), range_text("encoder.norm"), range_text("encoder.hidden")
    ('in (0, 1)', 'batch, layer, none', '')
    """
    return _RULES[key].limits


def choices(key: str) -> tuple[str, ...]:
    """The words a setting may take; empty where it is not a choice."""
    return _RULES[key].choices


def _get(settings: Settings, key: str) -> Any:
    value: Any = settings
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _set(settings: Settings, key: str, value: Any) -> Settings:
    head, _, name = key.rpartition(".")
    if not head:
        return replace(settings, **{name: value})
    return replace(settings, **{head: replace(getattr(settings, head), **{name: value})})


def _check_network(settings: Settings) -> None:
    scored, read_out = settings.scorer.kind, settings.embedding.parts
    if settings.encoder.kind == "none" and (scored, read_out) != ("combined", "both"):
        raise InputError(
            f"encoder.kind=none leaves the rules and the inputs, but scorer.kind = {scored} and "
            f"embedding.parts = {read_out}: set scorer.kind=combined and embedding.parts=both, as "
            "'maskgae fit --quick' does"
        )


def _check_grid(probe: ProbeConfig) -> None:
    if not probe.grid or (probe.kind == "logistic" and min(probe.grid) == 0):
        least = "a number above 0" if probe.kind == "logistic" else "a number"
        raise InputError(
            f"probe.grid must list {least}, or several, not "
            f"{list(probe.grid)}: {help_text('probe.grid')}"
        )
