"""Every other method, behind the contract that MaskGAE keeps.

A baseline has the settings it was published with, written in its own file; of a cell's settings
only split, probe and ``training.max_steps`` concern it. Those of :data:`CONFIGURED` can be set
(``registry.py``).

================================  =======  =========================================
``gae vgae arga arvga``           both     graph autoencoders, PyG's modules
``sage``                          both     SAGE trained end to end on links
``sgc``                           both     SGC features (smoothed twice), nothing learnt
``maskgae-frozen``                both     MaskGAE's embedding under the MLP scorer
``untrained``                     both     MaskGAE's encoder before its first step
``mlp gcn gat``                   node     trained on labels
``dgi``                           both     contrastive: nodes against shuffled features
``gmi``                           both     features, neighbours and edges against random nodes
``mvgrl``                         both     contrastive: edges against walks
``grace gca``                     both     contrastive: nodes of two views against each other
``cca-ssg``                       both     two views agree, columns are uncorrelated
``sugrl``                         both     contrastive: distances to neighbours
``bgrl``                          both     predicts its own average on another view
``graphmae``                      both     masked features, rebuilt by attention
``mgae``                          both     masked edges from products of all layers
``seal``                          link     a pair's subgraph is classified
================================  =======  =========================================
"""

from __future__ import annotations

from collections.abc import Callable

from maskgae.base.settings import Settings
from maskgae.evaluation.method import Method
from maskgae.lab.methods import (
    autoencoders,
    bgrl,
    cca_ssg,
    dgi,
    gca,
    gmi,
    grace,
    graphmae,
    mgae,
    mvgrl,
    sage,
    seal,
    sugrl,
    supervised,
)
from maskgae.lab.methods.loop import Recipe
from maskgae.lab.methods.registry import Entry
from maskgae.lab.methods.scorer import WithScores, as_scorer
from maskgae.lab.methods.sgc import SGC
from maskgae.lab.methods.supervised import Maker, Supervised
from maskgae.lab.methods.untrained import UntrainedEncoder
from maskgae.training import MaskGAEMethod

Factory = Callable[[Settings, str], Method]


def _supervised(stack: Maker, recipe: Recipe = supervised.RECIPE) -> Factory:
    def make(settings: Settings, device: str) -> Method:
        return Supervised(stack, device, recipe.within(settings.training.max_steps))

    return make


#: The methods with settings of their own.
CONFIGURED: dict[str, Entry] = {
    entry.name: entry
    for entry in (
        *autoencoders.ENTRIES,
        sage.ENTRY,
        dgi.ENTRY,
        gmi.ENTRY,
        grace.ENTRY,
        gca.ENTRY,
        mvgrl.ENTRY,
        cca_ssg.ENTRY,
        sugrl.ENTRY,
        bgrl.ENTRY,
        graphmae.ENTRY,
        mgae.ENTRY,
        seal.ENTRY,
    )
}

#: Name -> how to make the method from a cell's settings and a device.
BASELINES: dict[str, Factory] = {
    "sgc": lambda settings, device: SGC(),
    "maskgae-frozen": lambda settings, device: WithScores(
        MaskGAEMethod(settings, device), anew=True
    ),
    "untrained": UntrainedEncoder,
    "mlp": _supervised(supervised.mlp_stack),
    "gcn": _supervised(supervised.gcn_stack),
    "gat": _supervised(supervised.gat_stack, supervised.GAT_RECIPE),
    **CONFIGURED,
}

#: Baselines that learn from labels, so that only the node task can judge them.
SUPERVISED = ("mlp", "gcn", "gat")

#: Baselines that score pairs and embed nothing, so that only the link task can judge them.
LINKS_ONLY = ("seal",)

__all__ = [
    "BASELINES",
    "CONFIGURED",
    "LINKS_ONLY",
    "SUPERVISED",
    "WithScores",
    "as_scorer",
]
