"""Several processes that train one network: the ranks of ``torch.distributed``.

``torchrun`` starts the ranks and tells each its number. Every rank reads the graph itself and draws
the same masks, batches and negative samples, since randomness has an address. It then learns from
its part of each batch; gradients are averaged, so all hold the same weights. Held-out pairs and
rows of the embedding are shared out too. Rank 0 alone prints and writes.

Without ``torchrun`` there is one rank, and everything here does nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from maskgae.base.errors import InputError, RunError, StoppedError
from maskgae.base.rng import Stream
from maskgae.training.checkpoint import Checkpoints
from maskgae.training.heartbeat import heartbeat
from maskgae.training.state import Snapshot

#: How long a rank waits for another. One that dies is noticed at once; one that reads a large
#: graph or evaluates alone may take its time.
PATIENCE = timedelta(hours=12)


@dataclass(frozen=True)
class Ranks:
    """Which of how many ranks this process is.

    >>> Ranks(1, 3).share(torch.arange(7)), Ranks(0, 3).rows(7)
    (tensor([1, 4]), tensor([0, 1, 2]))
    """

    rank: int = 0
    world: int = 1

    @property
    def alone(self) -> bool:
        return self.world == 1

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def share(self, items: Tensor) -> Tensor:
        """Every ``world``-th item of the last dimension, from the rank's number on."""
        return items if self.alone else items[..., self.rank :: self.world]

    def rows(self, count: int) -> Tensor:
        """The rank's rows out of ``count``, one stretch of them."""
        each = -(-count // self.world)
        return torch.arange(min(count, self.rank * each), min(count, (self.rank + 1) * each))

    def own(self, stream: Stream) -> Stream:
        """The rank's own stream, for noise that must not be the same everywhere."""
        return stream if self.alone else stream.at("rank", self.rank)

    def wrapped(self, net: nn.Module) -> nn.Module:
        """The network, its gradients averaged over the ranks."""
        return net if self.alone else DistributedDataParallel(net)

    def summed(self, values: Tensor) -> Tensor:
        """The sum over all ranks."""
        if not self.alone:
            dist.all_reduce(values)
        return values

    def joined(self, own: Tensor, count: int) -> Tensor:
        """What :meth:`share` dealt out of ``count``, in its old order and on every rank."""
        if self.alone:
            return own
        padded = own.new_zeros(-(-count // self.world))
        padded[: own.numel()] = own
        parts = [torch.empty_like(padded) for _ in range(self.world)]
        dist.all_gather(parts, padded)
        return torch.stack(parts, dim=1).flatten()[:count]

    def gathered(self, own: Tensor, count: int) -> Tensor:
        """The rows that :meth:`rows` dealt out of ``count``, on rank 0; elsewhere only the own."""
        if self.alone:
            return own
        padded = own.new_zeros(-(-count // self.world), own.shape[1])
        padded[: own.shape[0]] = own
        parts = [torch.empty_like(padded) for _ in range(self.world)] if self.leads else None
        dist.gather(padded, parts)
        return own if parts is None else torch.cat(parts)[:count]

    def agreed(self, value: Any) -> Any:
        """Rank 0's value, on every rank."""
        if self.alone:
            return value
        box = [value]
        dist.broadcast_object_list(box)
        return box[0]

    def check_same(self, given: Mapping[str, str]) -> None:
        """Ends every rank where one was given something else than rank 0.

        Args:
            given: a digest of each thing, by what it is called.
        """
        if self.alone:
            return
        found: list[Any] = [None] * self.world
        dist.all_gather_object(found, dict(given))
        for rank, theirs in enumerate(found):
            names = [
                name for name in {**found[0], **theirs} if theirs.get(name) != found[0].get(name)
            ]
            if names:
                raise InputError(
                    f"rank {rank} was given other {', '.join(names[:4])} than rank 0: give all "
                    "ranks the same files and the same command"
                )

    def align(self, net: nn.Module) -> None:
        """Gives every rank the running statistics of rank 0."""
        for buffer in () if self.alone else net.buffers():
            dist.broadcast(buffer, 0)


def ranks() -> Ranks:
    """Which rank this process is."""
    if dist.is_available() and dist.is_initialized():
        return Ranks(dist.get_rank(), dist.get_world_size())
    return Ranks()


def _variable(name: str, default: int) -> int:
    """A whole number that torchrun says by a variable of the environment."""
    text = os.environ.get(name, "").strip()
    if not text:
        return default
    if not text.isascii() or not text.isdecimal() or len(text) > 9:
        raise InputError(f"{name} = '{text}' must be a whole number, as torchrun sets it: unset it")
    return int(text)


def _check_meeting() -> None:
    """Refuses variables by which ranks could not meet, before anybody waits."""
    for name, limit in {"RANK": _variable("WORLD_SIZE", 1), "MASTER_PORT": 2**16}.items():
        if _variable(name, limit) >= limit:
            raise InputError(
                f"{name} = '{os.environ.get(name, '')}' must be a whole number below {limit:,}, as "
                "torchrun sets it: start the ranks by torchrun, or unset WORLD_SIZE"
            )
    if not os.environ.get("MASTER_ADDR"):
        raise InputError(
            "MASTER_ADDR must name the machine of rank 0, as torchrun does: start the ranks by "
            "torchrun, or unset WORLD_SIZE"
        )


def restarted() -> bool:
    """Whether torchrun started this process again after another had died."""
    return _variable("TORCHELASTIC_RESTART_COUNT", 0) > 0


def local_ranks() -> int:
    """Ranks that share this machine."""
    return max(1, _variable("LOCAL_WORLD_SIZE", 1))


@contextmanager
def launched(
    device: str, notice: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[Ranks, str]]:
    """Joins the other ranks where several were started; gives the rank and its device.

    By torchrun, or by what has made a process group already, such as Ray or Lightning.

    Args:
        device: where to compute; of ``cuda`` each rank takes its own.
        notice: told, in a line, where another rank hangs, which ends this one.

    Raises:
        RunError: if another rank is lost on the way.
    """
    if _variable("WORLD_SIZE", 1) <= 1 and not dist.is_initialized():
        yield Ranks(), device
        return
    if device == "cuda":
        device = f"cuda:{_variable('LOCAL_RANK', 0)}"
        torch.cuda.set_device(device)
    backend = "nccl" if device.startswith("cuda") else "gloo"
    try:
        with _group(backend, notice) as here:
            yield here, device
    except RuntimeError as error:
        if not any(word in str(error).lower() for word in ("gloo", "nccl", "connection", "peer")):
            raise
        rank = os.environ.get("RANK", ranks().rank)
        raise RunError(
            f"rank {rank} lost the connection to another rank, whose own message "
            "says why; torchrun --max-restarts goes on from the last checkpoint by itself, "
            "and so does the same command with --resume"
        ) from None


@contextmanager
def _group(backend: str, notice: Callable[[str], None]) -> Iterator[Ranks]:
    """The process group that is there, watched by whoever made it, or one of our own."""
    if dist.is_initialized():
        yield ranks()
        return
    _check_meeting()
    try:
        store, here = _meet(backend), ranks()
        with heartbeat(store, here.rank, here.world, notice):
            yield here
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _meet(backend: str) -> Any:
    """Finds the other ranks under a name of this attempt, as the last one's addresses are dead.

    Gives the store that they share.
    """
    store, rank, world = next(dist.rendezvous("env://", timeout=PATIENCE))  # type: ignore[attr-defined]
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = dist.PrefixStore(f"maskgae/attempt/{attempt}", store)  # type: ignore[attr-defined]
    dist.init_process_group(backend, store=store, rank=rank, world_size=world, timeout=PATIENCE)
    return store


class RankedCheckpoints(Checkpoints):
    """Checkpoints of several ranks: rank 0 reads and writes them, and all go on from the same.

    They say nothing of the number of ranks, so a training run may go on with another.
    """

    def __init__(self, ranks: Ranks, folder: Path, every: str, **more: Any) -> None:
        super().__init__(folder, every, **more)
        self.ranks, self._asked, self._stopping = ranks, self.stop, False
        self.stop = lambda: self._stopping

    def begin(self, identity: Mapping[str, Any]) -> Snapshot | None:
        snapshot = super().begin(identity) if self.ranks.leads else None
        agreed: Snapshot | None = self.ranks.agreed(snapshot)
        return agreed

    def wanted(self, epoch: int, step: int) -> bool:
        """Where one rank was asked to stop, all of them stop between the same two steps."""
        asked = torch.tensor(float(self._asked()))
        self._stopping = bool(self.ranks.summed(asked) > 0)
        return super().wanted(epoch, step) if self.ranks.leads else self._stopping

    def save(self, snapshot: Snapshot) -> None:
        if self.ranks.leads:
            super().save(snapshot)
        elif self._stopping:
            raise StoppedError("stopped with the other ranks")
