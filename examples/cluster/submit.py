"""What spark-submit runs: `spark-submit … submit.py extract INPUT --out OUT` is `microcosm spark extract …`.

spark-submit says where Spark runs, and may bring the Python environment along; see run.sh.
"""

from __future__ import annotations

import sys

from microcosm.cli.app import main

if __name__ == "__main__":
    sys.exit(main(["spark", *sys.argv[1:]]))
