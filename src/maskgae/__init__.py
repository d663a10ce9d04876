"""maskgae: masked graph autoencoders."""

__version__ = "0.1.0"
