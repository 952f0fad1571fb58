#!/usr/bin/env bash
# Formatting of the C sources, luacheck, the order of the rooms. Exit status 0 only when all three are clean.
cd "$(dirname "$0")/../.." || exit 2
status=0
format=$(command -v clang-format-14 || command -v clang-format)
unformatted=$(git ls-files '*.c' '*.h' | while read -r f; do
  "$format" "$f" | cmp -s - "$f" || echo "$f"
done)
if [ -n "$unformatted" ]; then
  printf 'not in the house style (./dev format mends it):\n%s\n' "$unformatted"
  status=1
else
  echo "format: clean"
fi
luacheck -q . || status=1
python3 tests/tools/layers.py || status=1
exit $status
