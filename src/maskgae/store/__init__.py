"""Graphs larger than memory: a folder of mapped arrays, and how it is made."""
