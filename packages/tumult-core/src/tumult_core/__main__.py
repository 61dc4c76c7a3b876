"""Run ``tumult`` as ``python -m tumult_core``."""

import sys

from tumult_core._cli.main import main

if __name__ == "__main__":
    sys.exit(main())
