"""`python -m microcosm`: the command line, with its exit code."""

from __future__ import annotations

import sys

from microcosm.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
