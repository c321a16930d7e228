"""`microcosm`, or `python -m microcosm`: the command line, with its exit code."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run the command line of this process; never raises. Cost: that of the command."""
    try:
        from microcosm.tuning import COLLECTED_EVERY

        gc.set_threshold(COLLECTED_EVERY)  # what is imported from here on is no garbage
        from microcosm.cli.app import main as run

        return run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)  # as what was being loaded would say it
        return 130


if __name__ == "__main__":
    sys.exit(main())
