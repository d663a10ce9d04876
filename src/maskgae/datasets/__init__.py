"""Named graphs: the paper's, the embedded one, and generated ones."""
