"""Tumult's platform: chaos experiments as documents, the engine that runs them, and the record of every run."""

__version__ = "0.1.0"
__all__ = ["__version__"]
