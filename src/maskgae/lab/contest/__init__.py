"""The contest: the same held-out edges for ``fit`` and for what people would use instead.

===============  =========================================================================
graphs           where a graph comes from, and which of its edges a seed holds out
exam             what every contestant is asked, and how the answers are graded
products         the fair scorer of an embedding: dot, cosine or weighted products
embeddings       embeddings of the training graph in their usual settings
contestants      the table of all who take part
entry            one contestant on one graph: what is run, kept and found again
===============  =========================================================================
"""
