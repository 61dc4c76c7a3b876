"""What the author of an adapter needs to test it: scripted fake executables and the checks of the whole contract."""

from __future__ import annotations

from tumult_agent_cli.testing._fake import FOREVER, HANG, Call, FakeCli, Reply

__all__ = ["FOREVER", "HANG", "Call", "FakeCli", "Reply"]
