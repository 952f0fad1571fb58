--- Exports the kernels of the golden files for another processor, links them, runs them in an emulator, and compares the results
--- with the results of the interpreter on this machine.
--- usage: nestwright tests/cross/kernels.lua FOLDER [EMULATOR]
--- Prints a line for each kernel: "ok NAME" or "not ok NAME: why".
package.path = "tests/spec/?.lua;" .. package.path
local core = require "nestwright.core"
local nw = require "nestwright"
local inside = require "nestwright.inside"
local programs = require "golden_programs"

local TARGET = "aarch64"
local folder, emulator = arg[1], arg[2] or "qemu-aarch64 -L /usr/aarch64-linux-gnu"

-- These programs are left out. They call a function of this host, or have sums whose order depends on the threads. Programs
-- with a grid are left out, too.
local LEFT = {tensorized = true, atomic = true}
local SIZES = {M = 37, N = 48, H = 23, W = 41}

local MAIN = [[
#include "%s.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *load(const char *path, size_t *bytes) {
  FILE *f = fopen(path, "rb");
  unsigned char head[10];
  if (!f || fread(head, 1, 10, f) != 10) exit(3);
  long data = 10 + head[8] + 256 * head[9];
  fseek(f, 0, SEEK_END);
  *bytes = (size_t)(ftell(f) - data);
  fseek(f, data, SEEK_SET);
  void *p = aligned_alloc(64, *bytes / 64 * 64 + 64);
  if (fread(p, 1, *bytes, f) != *bytes) exit(3);
  fclose(f);
  return p;
}

int main(void) {
  size_t bytes;
%s  int code = %s(%s);
  if (code) return 10 + code;
%s  return 0;
}
]]

local function write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "a"
  file:close()
  return text
end

-- Returns the text of a C program. The program calls the kernel, and compares every byte of its result with the expected result.
local function main_of(path, name, tensors, ninputs)
  local callee, formals = read(path .. ".h"):match "int ([%w_]+)%(([^)]*)%);"
  local loads, calls, checks = {}, {}, {}
  for n, t in ipairs(tensors) do
    loads[#loads + 1] = ('  void *t%d = load("%s.%d.npy", &bytes);\n'):format(n, path, n)
    if n > ninputs then
      checks[#checks + 1] = ('  if (memcmp(t%d, load("%s.want%d.npy", &bytes), bytes)) return %d;\n'):format(n, path, n, n)
    end
    tensors[t.name] = n
  end
  for formal in formals:gmatch "[^,]+" do
    local is_size, word = formal:find "int64_t [%w_]+$" and not formal:find "*", formal:match "([%w_]+)$"
    calls[#calls + 1] = is_size and tostring(SIZES[word]) or "t" .. tensors[word]
  end
  return MAIN:format(name, table.concat(loads), callee, table.concat(calls, ", "), table.concat(checks))
end

local function schedule_of(case)
  local made = table.pack(case.make())
  for _, step in ipairs(case.steps) do step(table.unpack(made, 1, made.n)) end
  return made[1]
end

local function on_grid(s)
  for _, row in ipairs(core.outline(s)) do
    if row.mark and (row.mark:find "Idx%." or row.mark == "vthread") then return true end
  end
  return false
end

local function run(command)
  local ok, _, code = os.execute(command)
  return ok or nil, not ok and ("%s: status %s"):format(command, code) or nil
end

local function try(name, schedule)
  local s, path = schedule:retarget(TARGET), folder .. "/" .. name
  local arrays, inputs = inside.sized_arrays(s, SIZES), s:inputs()
  local tensors = table.move(s:outputs(), 1, #s:outputs(), #inputs + 1, s:inputs())
  for n, a in ipairs(arrays) do a:save(("%s.%d.npy"):format(path, n)) end
  nw.interpret(s, arrays, {lowered = true})
  for n = #inputs + 1, #arrays do arrays[n]:save(("%s.want%d.npy"):format(path, n)) end
  s:build():export(path .. ".so")
  write(path .. ".c", main_of(path, name, tensors, #inputs))
  local linked, why = run(("%s-linux-gnu-gcc -I%s -o %s %s.c %s.so -Wl,-rpath,%s"):format(TARGET, folder, path, path, path, folder))
  if not linked then return nil, why end
  return run(("OMP_NUM_THREADS=2 %s %s"):format(emulator, path))
end

local names = {}
for name in pairs(programs) do if not LEFT[name] then names[#names + 1] = name end end
table.sort(names)
for _, name in ipairs(names) do
  local s = schedule_of(programs[name])
  if not on_grid(s) then
    local good, same, why = pcall(try, name, s)
    print(good and same and "ok " .. name or ("not ok %s: %s"):format(name, tostring(good and why or same):gsub("\n.*", "")))
  end
end
