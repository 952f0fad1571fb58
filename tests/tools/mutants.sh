#!/usr/bin/env bash
# Introduces each mutant in turn and checks that the mutant's test then fails. A mutant is a deliberate fault: a rule of
# the legality check that is switched off (core/poly/rules.def), or a fault elsewhere in the core
# (core/base/mutants.def). The dev build can switch mutants on (NW_MUTANTS). The last line is "N passed, N failed". A
# mutant that no test detects is a failure: no test covers the code that the mutant changes.
#
# If the environment has NW_FIGURES=FILE, writes the counts to this file as a flat JSON object.
# usage: mutants.sh BUILD [all]     with "all", also runs the suites that `suites` prints, on each mutant that its own test
#                             does not detect, until one of them fails
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(realpath "$1")
everything=${2:-}
export NW_BUILD=$build
NW_FIGURES_OUT=${NW_FIGURES:-} # so that the tests do not write to this file
unset NW_FIGURES
log=$build/log/mutants.log
mkdir -p "$build/log"
: >"$log"

# Prints "name|test" for every mutant.
rows() {
  sed -n 's/^NW_JUDGE_RULE(\([a-zA-Z_0-9]*\), "\([^"]*\)".*/\1|\2/p' core/poly/rules.def
  sed -n 's/^NW_MUTANT(\([a-zA-Z_0-9]*\), [A-Za-z0-9]*, "\([^"]*\)".*/\1|\2/p' core/base/mutants.def
}

# run_suite "KIND NAME": succeeds if the test of that name passes.
run_suite() {
  case $1 in
    "sound "*) "$build/bin/nestwright" tests/sound/run.lua "${1#sound }" ;;
    "spec "*) "$build/bin/nestwright" tests/spec/run.lua -o TAP "tests/spec/${1#spec }_spec.lua" ;;
    "unit "*) "$build/tests/unit_${1#unit }" ;;
    property) "$build/bin/nestwright" tests/prop/run.lua --cases 300 --seed 1 ;;
    *) echo "no suite: $1"; return 2 ;;
  esac
}
export -f run_suite
export build

passes() { timeout 300 bash -c 'run_suite "$1"' _ "$1" >>"$log" 2>&1 </dev/null; }

# Prints the suites, the quickest first.
suites() {
  local exe
  for exe in "$build"/tests/unit_poly_* "$build"/tests/unit_sched_* "$build"/tests/unit_ir_*; do echo "unit ${exe##*/unit_}"; done
  printf '%s\n' 'spec schedule/illegal' 'spec device/grid' 'unit interp_test_judged' 'spec schedule/schedule' \
    'spec schedule/golden' 'spec schedule/refusals' property
}

first_failure() {
  local suite
  while read -r suite; do
    passes "$suite" || { echo "$suite"; return; }
  done < <(suites)
}

export log everything
export -f passes suites first_failure

# try NAME|TEST: introduces one mutant, and prints which test detects it.
try() {
  local name=${1%%|*} suite=${1#*|} by=
  if ! NW_MUTANT=$name passes "$suite"; then
    by=$suite
  elif [ "$everything" = all ]; then
    by=$(NW_MUTANT=$name first_failure)
    [ -z "$by" ] || by="$by, not by $suite"
  fi
  if [ -n "$by" ]; then printf '%-28s caught by %s\n' "$name" "$by"; else printf '%-28s LIVES: no test notices it\n' "$name"; fi
}

# Checks that a test named by a mutant passes without any mutant.
sound() { passes "$1" || printf '%-28s %s fails without any mutant: correct this first (see %s)\n' "" "$1" "$log"; }
export -f try sound

each() { tr '\n' '\0' | xargs -0 -n 1 -P "$(nproc)" bash -c "$1"' "$1"' _; } # runs on all cores

broken=$(rows | cut -d'|' -f2 | sort -u | each sound)
[ -z "$broken" ] || { echo "$broken"; echo "0 passed, $(wc -l <<<"$broken") failed"; exit 1; }
told=$(rows | each try | tee >(cat >&2))
passed=$(grep -c ' caught by ' <<<"$told") failed=$(grep -c ' LIVES: ' <<<"$told") skipped=$(grep -c ' skipped: ' <<<"$told")
[ -z "${NW_FIGURES_OUT:-}" ] || printf '{"mutants": %d, "missed": %d}\n' $((passed + failed)) $failed >"$NW_FIGURES_OUT"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ "$passed" -gt 0 ]
