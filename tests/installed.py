"""Check that each named distribution is imported from where wheels are installed: ``python -I installed.py NAME…``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

modules = [importlib.import_module(name.replace("-", "_")) for name in sys.argv[1:]]
elsewhere = [str(module.__file__) for module in modules if "site-packages" not in Path(str(module.__file__)).parts]
if elsewhere:
    sys.exit(f"not from an installed wheel: {', '.join(elsewhere)}")
print(f"{len(modules)} distributions imported from {Path(str(modules[0].__file__)).parents[1]}")
