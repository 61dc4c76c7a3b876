"""Plugins: what writes one in Python, and what loads all that are installed into the catalog."""

from tumult_core.catalog import Risk
from tumult_core.hookspecs import hookimpl
from tumult_core.plugins._define import Plugin
from tumult_core.plugins._load import load_catalog, load_native

__all__ = ["Plugin", "Risk", "hookimpl", "load_catalog", "load_native"]
