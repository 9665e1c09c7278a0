"""What every test needs: no accelerator and no files of this machine's user."""

from __future__ import annotations

import os
import tempfile

_folder = tempfile.TemporaryDirectory(prefix="ipython-")
os.environ["IPYTHONDIR"] = _folder.name
os.environ.setdefault("JAX_PLATFORMS", "cpu")
