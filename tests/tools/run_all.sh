#!/usr/bin/env bash
# Runs the suites on one build tree. The last line gives the totals: "N passed, N failed[, N skipped]".
# usage: run_all.sh BUILD [SUITE...]     default suites: lint unit fuzz spec sound legal safe walk kernel mutants prop
# Other suites: threads (the tests that use threads), cpus (emulates older processors), cross and prices (parts of cpus).
# NW_PROP_ARGS is passed to the property test: "--cases N --seed S". Without it, every run has the same cases, so a new failure
# comes from a change of the program. ./dev fuzz steps draws new cases.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$(realpath "$1")
shift
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(lint unit fuzz spec sound legal safe walk kernel mutants prop)
logs=$build/log
mkdir -p "$logs"
passed=0 failed=0 skipped=0
export NW_BUILD=$build
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE NW_MUTANT

# tally NAME STATUS OK FAILED [SKIPPED]: adds the counts of one suite. If a suite ends with an error although no test failed, this
# counts as one failure.
tally() {
  local name=$1 status=$2 ok=$3 bad=$4 skip=${5:-0}
  [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
  [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ] && [ "$skip" -eq 0 ] && bad=1
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  printf '%-28s %5d passed %4d failed %4d skipped\n' "$name" "$ok" "$bad" "$skip"
  [ "$bad" -eq 0 ] || { echo "--- $logs/$name.log"; tail -n 30 "$logs/$name.log"; }
}

count() { grep -cE "$1" "$2" || true; }

run_unit() { # [PREFIX]: runs all unit tests, or the tests whose names begin with PREFIX
  local exe name status log
  for exe in "$build"/tests/unit_"${1:-}"*; do
    [ -x "$exe" ] || continue
    name=$(basename "$exe") log=$logs/$(basename "$exe").log
    timeout 300 "$exe" >"$log" 2>&1 && status=0 || status=$?
    tally "$name" $status "$(count '^\[       OK \]' "$log")" "$(grep -E '^\[  FAILED  \] [^0-9]' "$log" | sort -u | wc -l)" \
      "$(grep -E '^\[  SKIPPED \] [^0-9]' "$log" | sort -u | wc -l)"
  done
}

run_fuzz() { # replays the corpora of the fuzz targets
  local exe name status log
  for exe in "$build"/tests/replay_*; do
    [ -x "$exe" ] || continue
    name=$(basename "$exe") log=$logs/$(basename "$exe").log
    timeout 120 "$exe" tests/fuzz/corpus/"${name#replay_}"/* >"$log" 2>&1 && status=0 || status=$?
    tally "$name" $status $((status == 0)) 0
  done
}

run_spec() { # [K]: runs all files, or every fourth file, beginning with the K-th
  local files=(tests/spec/*/*_spec.lua) k share=()
  [ $# -gt 0 ] || { run_specs spec "${files[@]}"; return; }
  for ((k = $1 - 1; k < ${#files[@]}; k += 4)); do share+=("${files[k]}"); done
  run_specs "spec_$1" "${share[@]}"
}

run_legal() { # runs legal schedules, as tests of other schedulers contain them
  local log=$logs/legal.log status
  timeout 900 "$build/bin/nestwright" tests/legal/run.lua >"$log" 2>&1 && status=0 || status=$?
  tally legal $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")"
}

run_sound() { # runs programs that once gave a wrong result, and variations of them
  local log=$logs/sound.log status
  timeout 900 "$build/bin/nestwright" tests/sound/run.lua >"$log" 2>&1 && status=0 || status=$?
  tally sound $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")"
}

# safe NAME COMMAND...: runs a part of tests/safe, which prints a line with "ok", "not ok" or "skipped" for each test.
safe() {
  local name=safe_$1 log=$logs/safe_$1.log status
  shift
  timeout 600 "$@" >"$log" 2>&1 && status=0 || status=$?
  tally "$name" $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")" "$(count '^skipped ' "$log")"
}

run_safe() { # runs a few attacks of each kind on a session; ./dev bench safe runs more
  local nestwright=$build/bin/nestwright
  case $build in
    *asan | *tsan) export NW_SAFE_MEMORY=unlimited ;; # the sanitizer's shadow memory counts as address space
    *) safe memory "$nestwright" tests/safe/memory.lua few ;;
  esac
  ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 safe refused "$nestwright" tests/safe/refused.lua 1 15 # an aborted call leaks memory
  safe files "$nestwright" tests/safe/files.lua 1
  safe foreign "$nestwright" tests/safe/foreign.lua quick
  safe parsers "$nestwright" tests/safe/parsers.lua 1000 1
  [ ! -x "$build/bin/nestwright-kernel" ] || safe messages /usr/bin/python3 tests/safe/messages.py "$build" 300 1
  safe api "$nestwright" tests/safe/api.lua 400
}

run_specs() { # NAME FILE...
  local name=$1 log=$logs/$1.log status
  shift
  timeout 1800 "$build/bin/nestwright" tests/spec/run.lua -o TAP "$@" >"$log" 2>&1 && status=0 || status=$?
  tally "$name" $status "$(grep -E '^ok ' "$log" | grep -vcE '# (SKIP|PENDING)' || true)" "$(count '^not ok ' "$log")" \
    "$(count '^ok .*# (SKIP|PENDING)' "$log")"
}

run_threads() { # runs the tests that use threads, for ThreadSanitizer
  run_unit run
  run_unit check
  run_unit lua
  run_specs threads tests/spec/measure/kernel_spec.lua tests/spec/measure/experiment_spec.lua
  run_walk
  run_clients tests/jupyter/test_protocol.py
}

run_walk() { # runs two tutorials with small sizes
  local log=$logs/walk.log status
  { timeout 300 "$build/bin/nestwright" tutorials/gemm.lua 128 &&
    timeout 300 "$build/bin/nestwright" tutorials/fused_loop.lua 1024 2; } >"$log" 2>&1 && status=0 || status=$?
  tally walk $status $((status == 0)) 0
}

# Tests the Jupyter kernel with real clients. They use Debian's Python, because Debian's Jupyter needs it. A sanitizer writes its
# reports to files, because the client reads the kernel's stderr.
run_kernel() { run_clients tests/jupyter/test_*.py; }

run_clients() { # TEST...
  local test name status log ASAN_OPTIONS=${ASAN_OPTIONS:-} TSAN_OPTIONS=${TSAN_OPTIONS:-}
  ASAN_OPTIONS+=${ASAN_OPTIONS:+:log_path=$logs/report}
  TSAN_OPTIONS+=${TSAN_OPTIONS:+:log_path=$logs/report}
  [ -x "$build/bin/nestwright-kernel" ] || { echo "kernel: skipped, built without libzmq"; skipped=$((skipped + 1)); return; }
  "$build/bin/nestwright-kernel" --install --prefix "$build" >/dev/null || { tally kernel 1 0 1; return; }
  for test in "$@"; do
    name=kernel_$(basename "$test" .py) log=$logs/kernel_$(basename "$test" .py).log
    rm -rf "$build/jupyter" "$logs"/report.* && mkdir -p "$build/jupyter"
    JUPYTER_PATH=$build/share/jupyter XDG_STATE_HOME=$build/jupyter JUPYTER_RUNTIME_DIR=$build/jupyter/runtime \
      JUPYTER_CONFIG_DIR=$build/jupyter/config IPYTHONDIR=$build/jupyter/ipython \
      timeout 600 /usr/bin/python3 -W ignore "$test" -v >"$log" 2>&1 && status=0 || status=$?
    cat "$logs"/report.* >>"$log" 2>/dev/null && status=1
    tally "$name" $status "$(count ' \.\.\. ok$' "$log")" "$(count '^(FAIL|ERROR): ' "$log")" "$(count " \.\.\. skipped " "$log")"
  done
}

run_prop() {
  local log=$logs/prop.log status
  timeout 1800 "$build/bin/nestwright" tests/prop/run.lua --jobs "$(nproc)" --seed 72 ${NW_PROP_ARGS:---cases 480} >"$log" 2>&1 && status=0 || status=$?
  grep -E '^(seed|property|primitive|  )' "$log" | tail -n 40
  tally prop $status "$(sed -n 's/^property: \([0-9]*\) passed.*/\1/p' "$log" | tail -1 | grep . || echo 0)" \
    "$(sed -n 's/^property: .* \([0-9]*\) failed.*/\1/p' "$log" | tail -1 | grep . || echo 0)"
}

run_mutants() {
  local log=$logs/mutants_run.log status
  tests/tools/mutants.sh "$build" >"$log" 2>&1 && status=0 || status=$?
  tally mutants $status "$(count ' caught by ' "$log")" "$(count ' LIVES:' "$log")" "$(count ' skipped:' "$log")"
}

# Checks that the predicted costs for every machine record are the same on each emulated processor as on this host.
run_prices() {
  local cpu log=$logs/prices status=0
  "$build/bin/nestwright" tests/cross/prices.lua >"$log.here" 2>"$log.log" || status=1
  for cpu in Haswell Nehalem; do
    timeout 900 qemu-x86_64 -cpu "$cpu" "$build/bin/nestwright" tests/cross/prices.lua >"$log.$cpu" 2>>"$log.log" || status=1
    diff "$log.here" "$log.$cpu" >>"$log.log" || status=1
  done
  tally prices $status $((status == 0)) 0
}

# Links kernels for an Arm processor and runs them in an emulator. They must give the same bits as the interpreter on this host.
run_cross() {
  local log=$logs/cross.log status
  command -v qemu-aarch64 aarch64-linux-gnu-gcc >/dev/null || { echo "cross: skipped, no cross compiler or emulator"; skipped=$((skipped + 1)); return; }
  rm -rf "$logs/cross" && mkdir -p "$logs/cross"
  timeout 900 "$build/bin/nestwright" tests/cross/kernels.lua "$logs/cross" >"$log" 2>&1 && status=0 || status=$?
  tally cross $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")"
}

# Tests generated code on two emulated processors: one without AVX-512, and one without AVX-512, AVX, FMA and F16C. Also runs the
# suites prices and cross.
run_cpus() {
  local cpu exe log status
  local -x NW_EMULATED=1 # tests then skip checks that do not work in an emulator
  command -v qemu-x86_64 >/dev/null || { echo "cpus: skipped, qemu-x86_64 is not installed"; skipped=$((skipped + 1)); return; }
  for cpu in Haswell Nehalem; do
    for exe in "$build"/tests/unit_{hw,run,check}_* "$build"/tests/unit_interp_test_values; do
      log=$logs/$cpu.$(basename "$exe").log
      timeout 300 qemu-x86_64 -cpu $cpu "$exe" >"$log" 2>&1 && status=0 || status=$?
      tally "$cpu.$(basename "$exe")" $status $((status == 0)) 0
    done
    log=$logs/$cpu.prop.log
    timeout 600 qemu-x86_64 -cpu $cpu "$build/bin/nestwright" tests/prop/run.lua --cases 100 >"$log" 2>&1 && status=0 || status=$?
    tally $cpu.prop $status $((status == 0)) 0
    log=$logs/$cpu.sound.log # compares every operation, for each dtype and three widths, with the interpreter
    NW_FEW_WIDTHS=1 timeout 1200 qemu-x86_64 -cpu $cpu "$build/bin/nestwright" tests/sound/run.lua ops >"$log" 2>&1 && status=0 || status=$?
    tally $cpu.sound $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")"
  done
  run_prices
  run_cross
}

run_lint() {
  local log=$logs/lint.log status
  tests/tools/lint.sh "$build" >"$log" 2>&1 && status=0 || status=$?
  tally lint $status "$(count '^ok ' "$log")" "$(count '^not ok ' "$log")" "$(count '^skipped ' "$log")"
}

# Suites that use one core run in parallel, the longest first. Suites that use all cores run alone, after them.
alone=" mutants prop threads cpus "
jobs=() last=()
for suite in "${suites[@]}"; do
  declare -F "run_$suite" >/dev/null || { echo "no suite '$suite'"; exit 2; }
  case $suite in
    spec) jobs=("spec 1" "spec 2" "spec 3" "spec 4" "${jobs[@]}") ;;
    sound | kernel) jobs=("$suite" "${jobs[@]}") ;;
    *) if [[ $alone == *" $suite "* ]]; then last+=("$suite"); else jobs+=("$suite"); fi ;;
  esac
done

# Runs a suite. Its output and its counts go to files.
run_apart() { # NUMBER SUITE [ARGUMENT]
  local number=$1
  passed=0 failed=0 skipped=0
  shift
  { "run_$1" ${2:+"$2"}; } >"$logs/out.$number" 2>&1
  echo "$passed $failed $skipped" >"$logs/counts.$number"
}

show() { # NUMBER: prints the output of a suite and adds its counts
  local ok bad skip
  cat "$logs/out.$1"
  read -r ok bad skip <"$logs/counts.$1" 2>/dev/null || { ok=0 bad=1 skip=0 && echo "a suite ended without a result"; }
  passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
  rm -f "$logs/out.$1" "$logs/counts.$1"
}

rm -f "$logs"/out.* "$logs"/counts.*
declare -A number_of=()
begun=0 cores=$(nproc)
while [ $begun -lt ${#jobs[@]} ] || [ ${#number_of[@]} -gt 0 ]; do
  if [ $begun -lt ${#jobs[@]} ] && [ ${#number_of[@]} -lt "$cores" ]; then
    run_apart $begun ${jobs[begun]} &
    number_of[$!]=$begun
    begun=$((begun + 1))
  else
    wait -n -p ended
    show "${number_of[$ended]}"
    unset "number_of[$ended]"
  fi
done
for suite in "${last[@]}"; do "run_$suite"; done
if [ $skipped -gt 0 ]; then echo "$passed passed, $failed failed, $skipped skipped"; else echo "$passed passed, $failed failed"; fi
[ $failed -eq 0 ]
