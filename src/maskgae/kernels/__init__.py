"""Compiled loops over rows of a graph, for what no array operation says well.

Import them where they are called, not at the top of a file: loading the compiler takes a third of a
second, and the first call ever of a loop the time to compile it.
"""
