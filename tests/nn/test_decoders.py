"""Decoders give one logit a pair, from products alone."""

import pytest
import torch
from torch import Tensor

from maskgae.base.rng import stream
from maskgae.base.settings import DecoderConfig
from maskgae.nn import MLP, Dot
from maskgae.nn.decoders import pair_decoder
from maskgae.nn.losses import pair_logits, row_logits

pytestmark = pytest.mark.usefixtures("global_rng_untouched")


def mlp(layers: int = 2, dropout: float = 0.5) -> MLP:
    made = MLP(3, DecoderConfig(hidden=4, layers=layers, dropout=dropout))
    made.reset_parameters(stream(0, "weights").torch())
    return made


def test_the_dot_product_is_the_sum_of_products() -> None:
    assert Dot()(torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 0.0]])).tolist() == [6, -1]


def test_an_mlp_by_hand() -> None:
    net = MLP(2, DecoderConfig(hidden=2, layers=2))
    first, last = net.layers
    first.weight.data = torch.tensor([[1.0, -1.0], [2.0, 0.0]])
    first.bias.data = torch.tensor([0.0, 1.0])
    last.weight.data = torch.tensor([[10.0], [100.0]])
    last.bias.data = torch.tensor([0.5])
    # [1, 1] -> [3, 0] -> relu -> 30.5; [-4, 1] -> [-2, 5] -> relu -> 500.5
    assert net(torch.tensor([[1.0, 1.0], [-4.0, 1.0]])).tolist() == [30.5, 500.5]


@pytest.mark.parametrize("layers", [1, 2, 3])
def test_depth(layers: int) -> None:
    net = mlp(layers)
    assert len(net.layers) == layers
    assert net(torch.ones(7, 3)).shape == (7,)


def test_noise_comes_from_the_stream_and_only_where_one_is_given() -> None:
    net, x = mlp(), torch.ones(50, 3)
    assert net(x, stream(0, 1)).equal(net(x, stream(0, 1)))
    assert not net(x, stream(0, 1)).equal(net(x, stream(0, 2)))
    assert net(x).unique().numel() == 1
    assert mlp(dropout=0.0)(x, stream(0)).equal(net(x))


def test_one_layer_has_no_dropout() -> None:
    net, x = mlp(layers=1), torch.ones(50, 3)
    assert net(x, stream(0)).equal(net(x))


@pytest.mark.parametrize(("kind", "cls"), [("mlp", MLP), ("dot", Dot)])
def test_the_configuration_names_the_decoder(kind: str, cls: type) -> None:
    made = pair_decoder(3, DecoderConfig(kind=kind))
    made.reset_parameters(stream(0).torch())
    assert type(made) is cls


@pytest.mark.parametrize(
    "config", [DecoderConfig(kind="dot"), *(DecoderConfig(layers=n) for n in (1, 2, 3))]
)
@pytest.mark.parametrize("columns", [None, torch.tensor([1999, 4, 4])])
def test_rows_of_logits_are_those_of_pairs(config: DecoderConfig, columns: Tensor | None) -> None:
    decoder = pair_decoder(5, config)
    decoder.reset_parameters(stream(0, "weights").torch())
    z, nodes = torch.randn(2000, 5, generator=torch.Generator().manual_seed(1)), torch.arange(3, 20)
    others = torch.arange(2000) if columns is None else columns
    pairs = torch.cartesian_prod(nodes, others).T
    expected = pair_logits(z, decoder, pairs).view(17, -1)
    torch.testing.assert_close(
        row_logits(z, decoder, nodes, columns), expected, atol=1e-5, rtol=1e-5
    )
