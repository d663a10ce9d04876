"""What a fit is: read, fit, use, keep. One :class:`Run` is behind both doors.

>>> from maskgae.run import fit, read
>>> source = read([("ann", "bob"), ("bob", "cyd"), ("cyd", "ann"), ("cyd", "dan")])
>>> fit(source, {"training.epochs": 2}, holdout=False)
Run(graph, 4 nodes)
"""

from maskgae.run.callbacks import Callback
from maskgae.run.fit import fit
from maskgae.run.plan import Plan
from maskgae.run.run import Embedding, Run
from maskgae.run.source import Source, read

__all__ = ["Callback", "Embedding", "Plan", "Run", "Source", "fit", "read"]
