#!/usr/bin/env bash
# usage: lint.sh [BUILD]
# Checks the formatting of the C sources, runs luacheck, and checks which files a folder may include (layers.py) and how many it
# may hold (rooms.lua). Prints one line for each check: "ok", "not ok" or "skipped". The exit status is 0 only if no check fails.
build=${1:+$(realpath "$1")}
cd "$(dirname "$0")/../.." || exit 2
status=0

# verdict NAME STATUS: prints the result of a check.
verdict() {
  if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; status=1; fi
}

# Lists the sources that clang-format would change. Versions of clang-format differ, so the version of Debian 12 is used.
unformatted() {
  find core lua repl jupyter tests -name '*.[ch]' -print0 | sort -z | xargs -0 -n 16 "$format" --dry-run -Werror 2>&1 |
    sed -n 's/^\(.*\):[0-9]*:[0-9]*: error: .*/\1/p' | uniq
}

format=$(command -v clang-format-14 || command -v clang-format)
if [ -z "$format" ]; then
  echo "skipped format: no clang-format"
else
  bad=$(unformatted)
  [ -z "$bad" ] || printf 'not formatted by clang-format (run ./dev format):\n%s\n' "$bad"
  verdict format $([ -z "$bad" ]; echo $?)
fi
if command -v luacheck >/dev/null; then
  luacheck -q --no-color .
  verdict luacheck $?
else
  echo "skipped luacheck: it is not installed"
fi
python3 tests/tools/layers.py ${build:+"$build"}
verdict layers $?
if [ -n "$build" ]; then
  "$build/bin/nestwright" tests/tools/rooms.lua "$build"
  verdict rooms $?
fi
exit $status
