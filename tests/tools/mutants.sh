#!/usr/bin/env bash
# Switches off each rule of the judge in turn and demands that some test notices. The dev build has the switch
# (NW_MUTANTS); the rules are the rows of core/poly/rules.def. Ends with "N passed, N failed": a mutant that lives is a
# failure, because it means that no test needs that rule.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(realpath "$1")
export NW_BUILD=$build
rules=$(sed -n 's/^NW_JUDGE_RULE(\([a-zA-Z_0-9]*\).*/\1/p' core/poly/rules.def)
[ -n "$rules" ] || { echo "no rules found in core/poly/rules.def"; exit 2; }
log=$build/log/mutants.log
mkdir -p "$build/log"
: >"$log"

lua() { "$build/bin/nestwright" "$@"; }
spec() { lua tests/spec/run.lua -o TAP "tests/spec/$1_spec.lua"; }
property() { lua tests/prop/run.lua --cases 300 --seed 1; }

# The suites, quickest first: a command and its arguments each.
suites() {
  local exe
  for exe in "$build"/tests/unit_poly_* "$build"/tests/unit_sched_*; do echo "$exe"; done
  printf '%s\n' 'spec illegal' 'spec grid' "$build/tests/unit_interp_test_judged" 'spec schedule' 'spec golden' 'spec refusals' property
}

# Names the first suite that fails; nothing when all pass.
first_failure() {
  local suite
  while read -r suite; do
    timeout 300 bash -c "$suite" >>"$log" 2>&1 </dev/null || { basename "$suite"; return; }
  done < <(suites)
}
export -f lua spec property
export build

healthy=$(first_failure)
[ -z "$healthy" ] || { echo "with every rule on, $healthy fails: mend that first (see $log)"; exit 1; }
passed=0 failed=0
for rule in $rules; do
  by=$(NW_MUTANT=$rule first_failure)
  if [ -n "$by" ]; then passed=$((passed + 1)); printf '%-28s caught by %s\n' "$rule" "$by"
  else failed=$((failed + 1)); printf '%-28s LIVES: no test needs it\n' "$rule"; fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
