"""The contract, registry and runner that let Tumult drive any agent command line in one-shot batch mode."""

__version__ = "0.1.0"
__all__ = ["__version__"]
