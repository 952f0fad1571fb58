--- Tests files that the user names: schedules, arrays, sweeps, samples, models, nests, machine records. They may belong to another
--- user. They are only data, so a session must not run their contents as the user's code. An error must name the file, and the file
--- must not change.
local sandbox = require "_sandbox"
local disguises = require "_disguises"
local run, must, quote, write, read = sandbox.run, sandbox.must, sandbox.quote, sandbox.write, sandbox.read

local BEGIN = [[
local nw = require "nestwright"
local path = arg[1]
local A = nw.placeholder({64, 64}, "f32", "A")
local s = nw.schedule(nw.compute({64, 64}, function(i, j) return A(j, i) + 1 end, "C"))
local before = {math.floor, math.max, string.rep, pcall, print, ("x").upper}
local function attempt()
]]

local END = [[
end
local ok, problem = pcall(attempt)
local after = {math.floor, math.max, string.rep, pcall, print, ("x").upper}
for n, f in ipairs(before) do if after[n] ~= f then print "poisoned" end end
local code = ok and "loaded" or type(problem) == "table" and problem.code or "raw"
print(code .. ": " .. (ok and "" or type(problem) == "table" and problem.message or tostring(problem)))
assert(math.floor(nw.schedule(nw.compute({8}, function(i) return i * 2 end, "D")):build()()[{3}]) == 6)
print "the end"
]]

-- For each kind: its name, the code that reads the file, and either a valid text or the code that writes a valid file.
local kinds = {
  {"a schedule", "s:load(path)", make = "nw.schedule(nw.compute({64, 64}, function(i, j) return A(j, i) + 1 end, 'C')):save(path)"},
  {"an array", "nw.load(path)", make = "nw.zeros({64}):save(path)"},
  {"a sweep in CSV", "nw.sweep {params = {n = {1}}, csv = path, run = function() return 2 end}", text = "n,result\n1,2\n5,6\n"},
  {"a sweep in JSON", "nw.sweep {params = {n = {1}}, json = path, run = function() return 2 end}",
    text = '[{"n": 1, "result": 2}]\n'},
  {"a sample", "require 'nestwright.learn.sample'.load(path)", text = '{"computation": "program", "seed": 3, "entries": []}\n'},
  {"a model", "nw.cost.load(path)", text = '{"trees": "x", "features": [], "kernels": []}\n'},
  {"a nest", "nw.nest.read(path)", text = "array A: f64[4]\nfor i in 0..4:\n  A[i]\n"},
  {"a record of a machine", "nw.machine(path)", suffix = ".lua", text = 'return {name = "mine", extends = "zen5", clock = 3.3}\n'},
}

local function fresh(kind) return function() return sandbox.folder() .. "/file" .. (kind.suffix or "") end end

-- Returns the output of a session that reads the file. Returns nil and a message if the session ends early, runs code of the file,
-- or raises an error that is not of the library.
local function outcome(kind, path)
  local out, status = run(("exec %s %s %s"):format(quote(sandbox.program), kind.script, quote(path)), 20)
  if status ~= 0 or not out:find "the end" then return nil, ("it ended with %s: %s"):format(status, out) end
  if out:find "poisoned" then return nil, "the contents of the file changed the session" end
  if out:find "raw: " then return nil, "an error that is not of the library: " .. out end
  return out
end

local function try_disguise(kind)
  return function(path)
    local out, wrong = outcome(kind, path)
    if wrong then return wrong end
    if out:find "loaded" or not out:find(path, 1, true) then return out end
  end
end

local function try_damage(kind)
  return function(path) return select(2, outcome(kind, path)) end
end

-- ---- Contents

-- Checks that a file with this text causes an error with these words, and stays unchanged.
local function refused(kind, title, text, words)
  sandbox.case(kind[1] .. " " .. title, function()
    local path = fresh(kind)()
    write(path, text)
    local out, wrong = outcome(kind, path)
    if wrong then return wrong end
    if out:find "loaded" or not out:find(words, 1, true) then return out end
    if read(path) ~= text then return "the file was changed" end
  end)
end

local RECORDS = {
  {"that changes math", "math.max = function() return -7 end math.floor = nil return {name = 'x', extends = 'zen5'}", nil},
  {"that never ends", "while true do end", "it runs too long"},
  {"with an endless recursion", "local function f() return f() + 1 end return f()", "not enough memory"},
  {"that fills all memory", "local t = {} for n = 1, 1 << 40 do t[n] = {n} end return t", "not enough memory"},
  {"that makes a long text", "local s = 'x' while true do s = s .. s end", "not enough memory"},
  {"that calls a method of texts", "return {name = ('x'):rep(1 << 40)}", "attempt to index a string value"},
  {"that uses a library of Lua", "return {name = os.getenv 'HOME'}", "global 'os'"},
  {"that loads nestwright", "return require 'nestwright'", "global 'require'"},
  {"with a field that is a function", "return {name = 'x', extends = 'zen5', clock = function() return 3 end}",
    "a value that is not a number"},
  {"that contains itself", "local t = {name = 'x'} t.caches = {t} return t", "nested too deeply"},
  {"that returns nothing", "local x = 3", "does not return a table of fields"},
  {"that is compiled Lua code", string.dump(function() return {} end), "attempt to load a binary chunk"},
}

local function records(kind)
  for _, r in ipairs(RECORDS) do
    if r[3] then
      refused(kind, r[1], r[2], r[3])
    else
      sandbox.case(kind[1] .. " " .. r[1], function()
        local path = fresh(kind)()
        write(path, r[2])
        return select(2, outcome(kind, path))
      end)
    end
  end
end

local SWEEPS = {
  {"csv", "that is a letter", "Dear all,\nthe results are below.\n"},
  {"csv", "with other columns", "threads,seconds\n1,0.5\n2,0.3\n"},
  {"csv", "whose lines have more fields than its header", "n,result\n1,2,3\n"},
  {"csv", "with a quote that is not closed", 'n,result\n1,"two\n3,4\n5,6\n'},
  {"csv", "of a sweep over more parameters", "n,threads,result\n1,1,2\n1,2,3\n"},
  {"csv", "with two columns of one name", "n,n,result\n1,1,2\n"},
  {"json", "with the settings of another program", '{"theme": "dark", "n": 3}\n'},
  {"json", "with other fields", '[{"threads": 1, "seconds": 0.5}]\n'},
  {"json", "of lists", "[[1, 2], [3, 4]]\n"},
  {"json", "that is cut short", '[\n  {"n": 1, "result": 2},\n'},
  {"json", "that is plain text", "hello\n"},
}

local function sweeps(csv, json)
  for _, sweep in ipairs(SWEEPS) do
    refused(sweep[1] == "csv" and csv or json, sweep[2], sweep[3], "is not the result of a sweep over n")
  end
end

-- ---- Harmful names

local function names()
  local function script(code) return ("cd %s && exec %s -e %s"):format(sandbox.folder(), quote(sandbox.program), quote(code)) end
  local f = "local f = nw.schedule(nw.compute({8}, function(i) return i + 1 end, 'C')):build() "
  sandbox.case("a library with the name of an option", function()
    local out, status = run(script(f .. "f:export '--help.so' print(io.open '--help.so', io.open '--help.h')"))
    if status ~= 0 or select(2, out:gsub("file %(0x", "")) ~= 2 then return out end
  end)
  sandbox.case("a file name that contains a NUL", function()
    local out = run(script "print(pcall(nw.zeros({2}).save, nw.zeros {2}, 'a\\0b.npy')) print(io.open 'a')")
    if not out:find "with a NUL byte" or not out:find "\nnil\t" then return out end
  end)
  sandbox.case("links with the names that temporary files of an export once had", function()
    local victim = sandbox.folder() .. "/victim"
    write(victim, "precious")
    local out = run(("cd %s; ln -s %s k.so.$$.0.o; ln -s %s k.so.$$.c; exec %s -e %s"):format(sandbox.folder(), victim, victim,
      quote(sandbox.program), quote(f .. "f:export 'k.so' print 'exported'")))
    if not out:find "exported" or read(victim) ~= "precious" then return out end
  end)
  if not sandbox.as_other() then return sandbox.skip("a link that another user made", "needs root and setpriv") end
  sandbox.case("a link that another user made", function()
    local folder, victim = sandbox.folder(), sandbox.folder() .. "/victim"
    write(victim, "precious")
    must(("chmod 1777 %s && %s ln -s %s %s/r.npy"):format(folder, sandbox.as_other(), victim, folder))
    local out = run(script(("print(pcall(nw.zeros({2}).save, nw.zeros {2}, '%s/r.npy'))"):format(folder)))
    if not out:find "false\t" or read(victim) ~= "precious" then return out end
  end)
end

return function()
  for n, kind in ipairs(kinds) do
    kind.script = ("%s/named%d.lua"):format(sandbox.root, n)
    write(kind.script, BEGIN .. kind[2] .. "\n" .. END)
    if kind.make then
      local path = sandbox.folder() .. "/made"
      write(path .. ".lua", BEGIN .. kind.make .. "\n" .. END)
      must(("%s %s.lua %s"):format(quote(sandbox.program), path, path))
      kind.text = read(path)
    end
    disguises.each(kind[1], fresh(kind), kind.text, true, try_disguise(kind))
    disguises.each_damage(kind[1], fresh(kind), kind.text, try_damage(kind))
  end
  sweeps(kinds[3], kinds[4])
  records(kinds[8])
  names()
end
