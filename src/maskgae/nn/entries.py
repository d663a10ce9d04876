r"""Inner products where a sparse matrix has its entries.

With :math:`S` a matrix of :math:`n` rows and :math:`m` columns, :math:`L` and :math:`R` as many
rows, the product of entry :math:`(i, j)` is :math:`l_i^\top r_j`. It is what a graph attention's
weights get back as a gradient, and the score of chosen pairs of rows from two tables; its own
gradient is two sparse products, :math:`S_G R` and :math:`S_G^\top L`.

Large ones are compiled loops that copy no row, small ones torch's operations chunk by chunk; the
last bits of the two differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from maskgae.data.csr import CSR

#: Numbers multiplied from which the loops are taken, where a run has the time to load them.
MANY = 2**22
#: Entries whose rows are gathered at a time by torch.
CHUNK = 2**14


def is_large(numbers: int, *tables: Tensor) -> bool:
    """Whether a compiled loop takes these tables, and so many multiplications are worth it."""
    fits = all(each.device.type == "cpu" and each.dtype == torch.float32 for each in tables)
    return fits and numbers >= MANY


def entry_products(left: Tensor, right: Tensor, matrix: CSR) -> Tensor:
    """Inner products of each head at every entry, without a gradient.

    Shapes:
        - **left:** ``[rows, heads, d]``
        - **right:** ``[columns, heads, d]``
        - **matrix:** ``[rows, columns]``, whose values do not count
        - **output:** ``[entries, heads]``

    >>> matrix = CSR(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 1]), num_columns=2)
    >>> left, right = torch.tensor([[[1.0, 2.0]], [[0.0, 1.0]]]), torch.ones(2, 1, 2)
    >>> entry_products(left, right, matrix).tolist()
    [[3.0], [3.0], [1.0]]
    """
    rows, heads, width = matrix.row_of_entry(), left.shape[1], left.shape[2]
    out = left.new_empty(matrix.num_entries, heads)
    if is_large(out.numel() * width, left, right):
        _compiled(left, right, rows, matrix.indices, out)
        return out
    for start in range(0, matrix.num_entries, CHUNK):
        part = slice(start, start + CHUNK)
        # [chunk, heads, d] -> [chunk, heads]
        out[part] = (left[rows[part]] * right[matrix.indices[part]]).sum(-1)
    return out


def _compiled(left: Tensor, right: Tensor, rows: Tensor, columns: Tensor, out: Tensor) -> None:
    from maskgae.kernels.compiled import in_threads
    from maskgae.kernels.products import head_dots

    tables = left.contiguous().numpy(), right.contiguous().numpy()
    u, v, found = rows.numpy(), columns.contiguous().numpy(), out.numpy()
    in_threads(lambda part: head_dots(*tables, u[part], v[part], found[part]), u.size)


class EntryProducts(torch.autograd.Function):
    """:func:`entry_products` of one head with a gradient, ``[rows, d], [columns, d] -> [entries]``.

    >>> matrix = CSR(torch.tensor([0, 2]), torch.tensor([0, 1]), num_columns=2)
    >>> left, right = torch.ones(1, 1, requires_grad=True), torch.tensor([[2.0], [3.0]])
    >>> EntryProducts.apply(left, right, matrix).sum().backward()
    >>> left.grad
    tensor([[5.]])
    """

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, matrix: CSR) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.matrix = matrix
        return entry_products(left.unsqueeze(1), right.unsqueeze(1), matrix).squeeze(1)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        weighted = replace(ctx.matrix, values=grad)
        transposed = weighted.transposed(weighted.transpose_order())
        return weighted.matmul(right), transposed.matmul(left), None
