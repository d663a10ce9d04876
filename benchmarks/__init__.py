"""Speed and memory, ours beside a plain PyG implementation of the same method."""
