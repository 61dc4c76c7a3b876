"""The record of every run: files that are the truth, and an index over them that can be rebuilt."""

from tumult_core.store._open import default_location, open_store

__all__ = ["default_location", "open_store"]
