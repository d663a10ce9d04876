"""The same seed gives the same bits: run to run, process to process, and after a pause.

``python tests/training/test_determinism.py`` prints a digest of each training.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
import torch
from torch import Tensor

from maskgae.base.errors import StoppedError
from maskgae.base.rng import stream
from maskgae.base.settings import Settings
from maskgae.data.splits import LinkSplit, split_links
from maskgae.datasets.generated import generate
from maskgae.evaluation.method import Validation
from maskgae.nn.convs import CONVS
from maskgae.training import Checkpoints, MaskGAEMethod

MASKS = ("edge", "path", "none", "edge-reference", "path-reference")
CASES = list(product(tuple(CONVS), MASKS))


def small_split() -> LinkSplit:
    graph = generate(60, 200, num_features=8, communities=3, seed=1)
    return split_links(graph, 0.1, 0.1, stream(0, "split"))


def embedding(
    split: LinkSplit,
    encoder: str,
    mask: str,
    checkpoints: Checkpoints | None = None,
    norm: str = "batch",
) -> Tensor:
    """What three epochs of two steps end in, from the given state on."""
    kind, _, semantics = mask.partition("-")
    small = {"encoder.hidden": 16, "encoder.dim": 8, "training.epochs": 3, "objective.alpha": 0.01}
    small |= {"training.eval_every": 1, "training.batch_pairs": 20}
    chosen = {"encoder.kind": encoder, "mask.kind": kind, "mask.semantics": semantics or "strict"}
    chosen["encoder.norm"] = norm
    method = MaskGAEMethod(Settings().updated({**small, **chosen}), checkpoints=checkpoints)
    validation = Validation(split.val, split.val_negatives)
    return method.fit(split.train, validation, stream(7)).embed(split.train)


def digest(tensor: Tensor) -> str:
    return hashlib.blake2b(tensor.numpy().tobytes(), digest_size=8).hexdigest()


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    return small_split()


@pytest.fixture(scope="module")
def elsewhere() -> dict[str, str]:
    """The digests that another process finds, with other hashes of words."""
    environment = {**os.environ, "PYTHONHASHSEED": "3", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, __file__], env=environment, capture_output=True, text=True, check=True
    )
    return dict(line.split() for line in done.stdout.splitlines())


@pytest.mark.parametrize(("encoder", "mask"), CASES)
def test_the_same_seed_gives_the_same_bits(
    split: LinkSplit, elsewhere: dict[str, str], tmp_path: Path, encoder: str, mask: str
) -> None:
    with threads(1):
        once, again = (digest(embedding(split, encoder, mask)) for _ in range(2))
        questions = iter(range(100))
        # Inside an epoch: with batches the training asks before each step but the first.
        stopped = Checkpoints(tmp_path, "0", stop=lambda: next(questions) >= 3)
        with pytest.raises(StoppedError):
            embedding(split, encoder, mask, stopped)
        resumed = embedding(split, encoder, mask, Checkpoints(tmp_path, "0", resume=True))
    assert once == again == elsewhere[f"{encoder}/{mask}"] == digest(resumed)


@pytest.mark.parametrize("encoder", tuple(CONVS))
@pytest.mark.parametrize("norm", ["batch", "layer"])
def test_the_number_of_threads_changes_rounding_only(
    split: LinkSplit, encoder: str, norm: str
) -> None:
    found = []
    for count in (1, 2):
        with threads(count):
            found.append(embedding(split, encoder, "edge", norm=norm))
    torch.testing.assert_close(found[0], found[1], rtol=1e-3, atol=1e-4)


def main() -> None:
    split = small_split()
    with threads(1):
        for encoder, mask in CASES:
            sys.stdout.write(f"{encoder}/{mask} {digest(embedding(split, encoder, mask))}\n")


if __name__ == "__main__":
    main()
