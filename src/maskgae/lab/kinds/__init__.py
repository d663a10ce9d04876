"""Graphs of other kinds than the paper's: two sides, directions, time; what ``fit`` is worth there.

``graphs`` has what is run on which graph, ``sides`` the exam of a recommender, ``lightgcn`` the
method that is known for it, ``ways`` the exam of directed and timed graphs.
"""
