#!/usr/bin/env bash
# Builds sdist and wheel into dist/, checks both, installs the wheel into an empty environment and
# runs the quickstart there. With --all also the code of README.md and every example.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
unset VIRTUAL_ENV PYTHONPATH PYTHONHOME
export OMP_NUM_THREADS=1 PIP_DISABLE_PIP_VERSION_CHECK=1

python3 -m venv "$work/tools"
"$work/tools/bin/pip" install -q build twine check-wheel-contents 'validate-pyproject[all]'
rm -rf dist build
"$work/tools/bin/validate-pyproject" pyproject.toml
"$work/tools/bin/python" -m build --outdir dist . > "$work/build.log" || { cat "$work/build.log"; exit 1; }
"$work/tools/bin/twine" check --strict dist/*
"$work/tools/bin/check-wheel-contents" dist/*.whl
python3 -m zipfile -l dist/*.whl | grep 'optuna_mofs/py.typed' > /dev/null || { echo "py.typed is missing"; exit 1; }

python3 -m venv "$work/clean"
"$work/clean/bin/pip" install -q dist/*.whl
mkdir "$work/empty" && cd "$work/empty"
"$work/clean/bin/optuna-mofs" --version
"$work/clean/bin/optuna-mofs" quickstart
[ "${1:-}" = --all ] || exit 0

for path in "$root"/examples/*.py; do
    echo "== ${path##*/}"
    "$work/clean/bin/python" "$path"
done
echo "== README.md"
"$work/clean/bin/python" - "$root/README.md" <<'CODE'
import re
import sys

text = open(sys.argv[1], encoding="utf-8").read()
for block in re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
    exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
CODE
