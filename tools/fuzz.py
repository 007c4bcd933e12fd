"""Fuzz the public entry points with many cases: ``python -m tools.fuzz`` (2,000 of each).

The test suite runs a few cases of each. A finding is printed with its input; the same number of
cases gives the same input again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys


def main() -> None:
    """Run the fuzz tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, metavar="N", help="per entry point")
    parser.add_argument("-n", default="0", metavar="N", help="number of processes, or auto")
    parser.add_argument("tests", nargs="*", default=["tests/fuzz"])
    arguments = parser.parse_args()
    environment = {**os.environ, "MOFS_FUZZ_CASES": str(arguments.cases)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--tb=short",
        "-n",
        arguments.n,
    ]
    sys.exit(subprocess.run([*command, *arguments.tests], env=environment).returncode)


if __name__ == "__main__":
    main()
