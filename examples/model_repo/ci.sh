#!/usr/bin/env bash
# What CI runs, in a virtual environment: ./ci.sh [WHEEL]
# Without a wheel, Wengert comes from the package index.
set -euo pipefail
cd "$(dirname "$0")"
python -m pip install --quiet "${1:-wengert[mypy]}" "pytest>=8.3"
python -m mypy
python -m pytest
