--- Checks the exported C of many kernels at a time. The kernels are compiled in one file with sanitizers, and run. Their results
--- are compared with the results of the interpreter.
---
---   local failures, counts = ctext.check(cases, options)
---
--- cases: a list of
---   schedule   the schedule that is written as C, or exported
---   arguments  its inputs, a list of arrays
---   sizes      the values of its symbolic sizes, by name
---   want       its outputs, a list of arrays; by default, the results of nw.interpret
---   within     the tolerance for floats, both absolute and relative; by default 0, which means the same bits, except that all
---              NaNs are equal
---   name       the name of the case in messages
--- options:
---   library    true: check exported libraries, which contain machine code, instead of C texts
---   build      the options of s:build for libraries
---   fence      "after": each tensor ends at the beginning of an inaccessible page; "before": it begins at the end of one.
---              By default, each tensor lies between red zones of the heap.
---   align      the alignment in bytes of tensors that end at a page; by default 1, so that tensors have only the alignment of
---              their elements; 64 for libraries with streaming stores
---   optimise   the optimisation level of the compiler; by default "-O1"
---   threads    the number of threads, by default 2; with 1, OpenMP is not used
---
--- failures: a list of {case = index, name =, what = text}. A kernel fails if it crashes, is stopped by a sanitizer, leaks, does
--- not return 0, or runs for more than 20 seconds. Each kernel runs in its own process, so one failure does not affect others.
--- counts: {kernels = the number of kernels, reports = the number of reports of sanitizers}.
---
--- ctext.printed and ctext.called run one kernel with a main function of its own.
local nw = require "nestwright"
local core = require "nestwright.core"
local ctext = {}

local CC = os.getenv "CC" or "gcc"
local SANITIZE = " -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
local WARNINGS = " -w"

--- Runs a command for at most this many seconds, and returns its output and its status. The command does not inherit the options
--- of this process's sanitizers.
function ctext.command(command, seconds)
  local apart = "env -u ASAN_OPTIONS -u LSAN_OPTIONS -u UBSAN_OPTIONS"
  local pipe = io.popen(("timeout %d %s %s 2>&1; echo status $?"):format(seconds or 60, apart, command))
  local text = pipe:read "a"
  pipe:close()
  local output, status = text:match "^(.*)status (%d+)\n$"
  return output, tonumber(status)
end

--- Makes a folder, calls f with it, and removes it.
function ctext.in_folder(f)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir -p " .. folder))
  local out = table.pack(pcall(f, folder))
  os.execute("rm -r " .. folder)
  if not out[1] then error(out[2], 0) end
  return table.unpack(out, 2, out.n)
end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local function read(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a" or ""
end

-- ---- several texts in one file

--- Adds a prefix to the name of every function and to every name nw_... in a text. Returns the new text and the new name of the
--- kernel.
local function renamed(text, prefix)
  local functions, last = {}, nil
  for name in ("\n" .. text):gmatch "\n[%w ]-%f[%w_]int ([%a_][%w_]*)%(" do
    if not name:find "^nw_" then functions[name], last = true, name end
  end
  text = text:gsub("%f[%w_]nw_[%w_]+", function(name) return prefix .. name end)
  text = text:gsub("%f[%w_]([%a_][%w_]*)%(", function(name) return functions[name] and prefix .. name .. "(" end)
  return text, prefix .. last
end

-- ---- the main function

local HEAD = [[
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
]]

-- A kind is 'h' for f16, 'b' for bf16, 'f' for f32, 'd' for f64, 'u' for unsigned integers and bool, and 'i' for signed
-- integers. Numbers are compared as bits.
local TOOLS = [[
static char *data;
static long page;
enum { FENCE = %d, ALIGN = %d };

typedef struct tensor {
  char *base, *at;
  size_t bytes, mapped;
} tensor;

static tensor room(size_t bytes) {
  tensor t = {0, 0, bytes, 0};
  if (!FENCE) {
    t.base = t.at = malloc(bytes);
    return t;
  }
  size_t pages = (bytes + (size_t)page - 1) / (size_t)page * (size_t)page;
  t.mapped = pages + 2 * (size_t)page;
  t.base = mmap(0, t.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages) mprotect(t.base + page, pages, PROT_READ | PROT_WRITE);
  t.at = t.base + page + (FENCE == 1 ? (pages - bytes) / ALIGN * ALIGN : 0);
  return t;
}

static tensor filled(size_t from, size_t bytes) {
  tensor t = room(bytes);
  if (bytes) memcpy(t.at, data + from, bytes);
  return t;
}

static tensor blank(size_t bytes) {
  tensor t = room(bytes);
  if (bytes) memset(t.at, 0xa5, bytes);
  return t;
}

static void drop(tensor t) {
  if (FENCE)
    munmap(t.base, t.mapped);
  else
    free(t.base);
}

static double real(char kind, const char *at) {
  if (kind == 'd') {
    double d;
    return memcpy(&d, at, 8), d;
  }
  uint32_t bits = 0;
  float f;
  if (kind == 'f') {
    memcpy(&bits, at, 4);
  } else {
    uint16_t h;
    memcpy(&h, at, 2);
    if (kind == 'h') {
      int e = h >> 10 & 31, m = h & 0x3ff;
      double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(m + 1024, e - 25) : ldexp(m, -24);
      return h & 0x8000 ? -v : v;
    }
    bits = (uint32_t)h << 16;
  }
  return memcpy(&f, &bits, 4), f;
}

static void put(char kind, size_t each, const char *at) {
  int64_t v = 0;
  if (kind != 'i' && kind != 'u') {
    printf("%%.17g", real(kind, at));
    return;
  }
  memcpy(&v, at, each);
  if (kind == 'i') v = (int64_t)((uint64_t)v << (64 - 8 * each)) >> (64 - 8 * each);
  printf("%%lld", (long long)v);
}

static int same(char kind, size_t each, const char *a, const char *b, double within) {
  if (!memcmp(a, b, each)) return 1;
  if (kind == 'i' || kind == 'u') return 0;
  double x = real(kind, a), y = real(kind, b);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  return within > 0 && fabs(x - y) <= within * (1 + fabs(y));
}

static int differs(const tensor *t, size_t want, char kind, size_t each, double within, int output) {
  for (size_t i = 0; i < t->bytes / each; i++) {
    if (same(kind, each, t->at + i * each, data + want + i * each, within)) continue;
    printf("output %%d, element %%zu: got ", output, i);
    put(kind, each, t->at + i * each);
    printf(", want ");
    put(kind, each, data + want + i * each);
    printf("\n");
    return 1;
  }
  return 0;
}
]]

local MAIN = [[
int main(int argc, char **argv) {
  page = sysconf(_SC_PAGESIZE);
  FILE *f = fopen("data", "rb");
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  data = malloc((size_t)n + 1);
  if (fread(data, 1, (size_t)n, f) != (size_t)n) return 3;
  fclose(f);
  for (int i = 1; i <= %d; i++) {
    fflush(stdout);
    if (!fork()) {
      char name[32];
      sprintf(name, "out.%%d", i);
      if (!freopen(name, "w", stdout)) _exit(9);
      dup2(1, 2);
      alarm(20);
      int bad = kernels[i - 1]();
      free(data);
      exit(bad);
    }
    int status;
    wait(&status);
    if (status) {
      int exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1, signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      printf("%%d %%d %%d\n", i, exit, signal);
    }
  }
  free(data);
  return 0;
}
]]

local KIND = {f16 = "h", bf16 = "b", f32 = "f", f64 = "d"}
local function kind(dtype) return KIND[dtype] or (dtype == "bool" or dtype:find "^u") and "u" or "i" end

-- Returns the C text of the function that calls kernel n.
local function caller(n, name, case, blobs)
  local out, given, free = {}, {}, {}
  local function add(...) out[#out + 1] = (...):format(select(2, ...)) end
  local function blob(array)
    local at, bytes = blobs.n, core.array_bytes(array)
    blobs[#blobs + 1], blobs.n = bytes, blobs.n + #bytes
    return at, #bytes
  end
  add("static int kernel_%d(void) {\n", n)
  for _, size in ipairs(core.program_sizes(case.schedule)) do
    given[#given + 1] = ("INT64_C(%d)"):format(assert(case.sizes and case.sizes[size], "no value is given for size " .. size))
  end
  for i, a in ipairs(case.arguments) do
    local at, bytes = blob(a)
    add("  tensor a%d = filled(%d, %d);\n", i, at, bytes)
    given[#given + 1], free[#free + 1] = ("(const void *)a%d.at"):format(i), ("a%d"):format(i)
  end
  local checks = {}
  for i, a in ipairs(case.want) do
    local at, bytes = blob(a)
    local each = (tonumber(a.dtype:match "%d+") or 8) // 8
    add("  tensor c%d = blank(%d);\n", i, bytes)
    given[#given + 1], free[#free + 1] = ("(void *)c%d.at"):format(i), ("c%d"):format(i)
    checks[i] = ("  if (!bad) bad = differs(&c%d, %d, '%s', %d, %.17g, %d);\n"):format(i, at, kind(a.dtype), each,
      case.within or 0, i)
  end
  add("  int bad = %s(%s);\n", name, table.concat(given, ", "))
  add('  if (bad) printf("returns %%d\\n", bad);\n')
  for _, check in ipairs(checks) do out[#out + 1] = check end
  for _, t in ipairs(free) do add("  drop(%s);\n", t) end
  add "  return bad;\n}\n"
  return table.concat(out)
end

-- ---- one translation unit

local function prepared(case)
  case.want = case.want or nw.interpret(case.schedule, case.arguments)
end

-- Returns the C source of a kernel and the name of its function: the exported text, or code that loads it from a library.
local function source(n, case, options, folder)
  local prefix = ("k%d_"):format(n)
  if not options.library then return renamed(case.schedule:show "c", prefix) end
  local path = ("%s/k%d.so"):format(folder, n)
  case.schedule:build(options.build or {threads = options.threads or 2}):export(path)
  local header = read(path:gsub("%.so$", ".h"))
  local text, name = renamed(header:gsub("#pragma once", ""), prefix)
  local own, parameters = name:sub(#prefix + 1), text:match(name:gsub("%p", "%%%0") .. "(%b())")
  local names = {}
  for p in parameters:sub(2, -2):gmatch "[^,]+" do names[#names + 1] = p:match "([%w_]+)%s*$" end
  return ("static int %s%s {\n  void *so = dlopen(\"./k%d.so\", RTLD_NOW | RTLD_LOCAL);\n  int (*f)%s;\n"
    .. "  if (!so) return printf(\"%%s\\n\", dlerror()), 99;\n  *(void **)&f = dlsym(so, \"%s\");\n  return f(%s);\n}\n")
    :format(name, parameters, n, parameters, own, table.concat(names, ", ")), name
end

local FENCES = {after = 1, before = 2}

local function unit(cases, options, folder)
  local blobs, texts, callers, rows = {n = 0}, {}, {}, {}
  for n, case in ipairs(cases) do
    local text, name = source(n, case, options, folder)
    texts[n], callers[n], rows[n] = text, caller(n, name, case, blobs), ("kernel_%d"):format(n)
  end
  write(folder .. "/data", table.concat(blobs))
  write(folder .. "/all.c", table.concat {HEAD, TOOLS:format(FENCES[options.fence] or 0, options.align or 1),
    table.concat(texts, "\n"), "\n", table.concat(callers, "\n"), "static int (*const kernels[])(void) = {",
    table.concat(rows, ", "),
    "};\n", MAIN:format(#cases)})
end

local function compile(folder, options)
  local openmp = (options.threads or 2) > 1 and " -fopenmp" or ""
  return ctext.command(("%s -std=gnu99 %s -ffp-contract=off%s%s%s %s/all.c -o %s/all -lm -ldl"):format(CC,
    options.optimise or "-O1", SANITIZE, WARNINGS, openmp, folder, folder), 600)
end

local SIGNALS = {[7] = "a bus error", [8] = "an arithmetic error", [11] = "a segmentation fault", [14] = "more than 20 seconds"}

local function check_unit(cases, options, failures, counts, first)
  return ctext.in_folder(function(folder)
    unit(cases, options, folder)
    local messages, status = compile(folder, options)
    if status ~= 0 then
      if #cases == 1 then
        failures[#failures + 1] = {case = first, name = cases[1].name, what = "it does not compile: " .. messages}
        return
      end
      for n, case in ipairs(cases) do check_unit({case}, options, failures, counts, first + n - 1) end
      return
    end
    counts.kernels = counts.kernels + #cases
    local command = ("sh -c 'cd %s && OMP_NUM_THREADS=%d ./all'"):format(folder, options.threads or 2)
    local output, code = ctext.command(command, 30 * #cases + 30)
    if code ~= 0 then error(("the program ended with status %d: %s"):format(code, output), 0) end
    for n, exit, signal in output:gmatch "(%d+) (%-?%d+) (%d+)\n" do
      local what = read(("%s/out.%s"):format(folder, n))
      if signal ~= "0" then what = (SIGNALS[tonumber(signal)] or "signal " .. signal) .. "\n" .. what end
      local report = what:find "runtime error:" or what:find "AddressSanitizer" or what:find "LeakSanitizer"
      if report then counts.reports = counts.reports + 1 end
      if what == "" then what = "it ends with status " .. exit end
      failures[#failures + 1] = {case = first + tonumber(n) - 1, name = cases[tonumber(n)].name, what = what}
    end
  end)
end

local MOST = 50 -- the largest number of kernels in a file

function ctext.check(cases, options)
  options = options or {}
  local failures, counts = {}, {kernels = 0, reports = 0}
  for _, case in ipairs(cases) do prepared(case) end
  for first = 1, #cases, MOST do
    check_unit({table.unpack(cases, first, math.min(first + MOST - 1, #cases))}, options, failures, counts, first)
  end
  return failures, counts
end

--- Does the same as ctext.check, but raises an error that describes the first failure.
function ctext.agree(cases, options)
  local failures, counts = ctext.check(cases, options)
  local f = failures[1]
  if f then
    error(("%d of %d kernels fail; %s: %s"):format(#failures, #cases, f.name or "kernel " .. f.case, f.what), 2)
  end
  return counts
end

-- ---- one kernel with a main function of its own

local function ran(folder, compiled)
  local messages, status = ctext.command(compiled)
  if status ~= 0 then error("the program does not compile: " .. messages, 0) end
  local output, code = ctext.command(folder .. "/k")
  if code ~= 0 then error(("status %d: %s"):format(code, output), 0) end
  return output
end

--- Compiles the C text of a schedule with the body of a main function, under sanitizers, runs it, and returns its output.
function ctext.printed(s, main, flags)
  return ctext.in_folder(function(folder)
    write(folder .. "/k.c", s:show "c" .. "\n#include <stdio.h>\nint main(void) {\n" .. main .. "\n}\n")
    return ran(folder, ("%s -std=c99 -O1 -ffp-contract=off%s%s %s %s/k.c -o %s/k -lm"):format(CC, SANITIZE, WARNINGS, flags or "",
      folder, folder))
  end)
end

--- Does the same as ctext.printed, but for a library that is exported with these options.
function ctext.called(s, options, main)
  return ctext.in_folder(function(folder)
    s:build(options):export(folder .. "/k.so")
    write(folder .. "/m.c", "#define _GNU_SOURCE\n#include \"k.h\"\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n"
      .. main .. "\n}\n")
    return ran(folder, ("%s -w %s/m.c %s/k.so -o %s/k -Wl,-rpath,%s"):format(CC, folder, folder, folder, folder))
  end)
end

return ctext
