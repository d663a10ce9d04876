"""Colours that hold on a white and on a dark page, and for colour-blind eyes.

The twelve colours come from a random search, among colours with a contrast of 2.1 to white and
of 2.6 to the dark background, for the largest smallest distance in OKLab as normal, protan, deutan
and tritan eyes see them. Colours of the same shape lie at least 0.109 apart for any of these, all
twelve at least 0.073; of Okabe and Ito's six the two closest are 0.076 apart. Neighbours in the
list differ in shape.
"""

from __future__ import annotations

PALETTE = (
    "#8769ff",
    "#c30000",
    "#00c3e1",
    "#ff4b96",
    "#a58700",
    "#6996e1",
    "#00693c",
    "#87c300",
    "#d200b4",
    "#784b87",
    "#ff9687",
    "#4b2dff",
)
SYMBOLS = ("circle", "diamond") * 6
#: Groups beyond the palette, and nodes without one.
OTHER = "#8b8f98"
#: From few to many: blue to orange, which red-green blindness leaves alone, neither end near
#: white or black.
SCALE = ("#4668d8", "#b0699e", "#f08c00")
#: Okabe and Ito's blue, a little lighter, and their orange, a little darker.
EDGE = "#2a85c7"
NON_EDGE = "#dd8500"
NEUTRAL = "#8b8f98"
