"""The tables and charts of the documents, from records."""
