#!/usr/bin/env bash
# venv.sh PYTHON FOLDER [REQUIREMENT…]: a virtual environment with Raquo and everything its tests need.
set -euo pipefail
. "$(dirname "$0")/debian.sh"
python=$1 folder=$2
shift 2

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    command -v "$python" >/dev/null || install_packages python3
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        { echo "Raquo needs Python 3.11 or later: make PYTHON=python3.11 …" >&2; exit 1; }
}
"$python" -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
[ -x "$folder/bin/pip" ] || "$python" -m venv --clear "$folder"
"$folder/bin/pip" install --quiet --editable '.[dev]' "$@"
