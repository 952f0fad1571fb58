--- Functions that several specs use.
local support = {}

support.build = os.getenv "NW_BUILD" or "build/dev"
support.program = support.build .. "/bin/nestwright"

--- Returns the schedule of C[M, N] = A[M, K] * B[K, N] in f32.
function support.product(M, N, K)
  local nw = require "nestwright"
  local A, B = nw.placeholder({M, K}, "f32", "A"), nw.placeholder({K, N}, "f32", "B")
  local k = nw.reduce_axis(K, "k")
  return nw.schedule(nw.compute({M, N}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function differ(a, b, close)
  if a == b or (a ~= a and b ~= b) then return false end
  return not close or math.abs(a - b) > close * math.max(1, math.abs(a), math.abs(b))
end

--- Checks that the interpreter, on the schedule and on its lowered program, and the machine code give the result of the definition,
--- and that the machine code gives the bits of the interpreter. If `close` is given, floats may differ from the definition by this
--- relative amount.
function support.agree(s, outputs, data, close)
  local nw = require "nestwright"
  local expected, lowered = nw.evaluate(outputs, data), nw.interpret(s, data, {lowered = true})
  local ways = {nw.interpret(s, data), lowered, {s:build {threads = 2}(table.unpack(data))}}
  for way, got in ipairs(ways) do
    for n, array in ipairs(expected) do
      for i = 1, array:count() do
        local a, b = array:getflat(i), got[n]:getflat(i)
        assert(not differ(a, b, close), ("way %d, output %d at %d: %s, not %s"):format(way, n, i, b, a))
        assert(way < 3 or not differ(b, lowered[n]:getflat(i)), ("output %d at %d: machine code gives other bits"):format(n, i))
      end
    end
  end
end

-- Why a legal schedule may have no kernels: nothing is bound to a grid, or a block has an array in global memory.
local NO_KERNELS = {"has no loop that is bound to a GPU's grid", "has scope global, and is allocated inside a kernel"}

--- Checks that the simulated GPU finds no fault in a schedule, and that it computes the bits of the interpreter. Returns the
--- report; nil if the schedule has no kernels.
function support.simulates(s, data)
  local nw = require "nestwright"
  local ok, r = pcall(nw.simulate, s, data)
  if not ok and (tostring(r):find(NO_KERNELS[1], 1, true) or tostring(r):find(NO_KERNELS[2], 1, true)) then return nil end
  assert(ok, tostring(r))
  assert(#r.findings == 0, tostring(r))
  for n, want in ipairs(nw.interpret(s, data, {lowered = true})) do
    for i = 1, want:count() do
      local a, b = want:getflat(i), r.outputs[n]:getflat(i)
      assert(not differ(a, b), ("output %d at %d: the simulated GPU gives %s, not %s"):format(n, i, b, a))
    end
  end
  return r
end

--- Splits the loop over columns by four. The loop over groups of four columns becomes the outermost loop.
function support.columns_outside(s)
  s:split("j", 4)
  s:reorder("j_o", "i", "j_i")
end

--- Returns the error that a function raises. Fails if the function raises no error.
function support.error_of(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "an error was expected")
  return err
end

--- Checks that f fails with an error of the library. The message or the hint must match the pattern. If a code is given, the error
--- must have this code. Returns the error.
function support.fails(pattern, code, f, ...)
  local err = support.error_of(f, ...)
  assert(type(err) == "table", "not an error of the library: " .. tostring(err))
  local text = err.message .. "\n" .. (err.hint or "")
  assert(text:find(pattern), ("expected '%s' in: %s"):format(pattern, text))
  if code then assert(err.code == code, ("expected code %s, got %s: %s"):format(code, err.code, err.message)) end
  return err
end

--- Runs a command. Returns its standard output and error in one text, and its exit status as a shell reports it.
function support.run(command, input)
  local file = os.tmpname()
  local feed = "</dev/null"
  if input then
    local f = assert(io.open(file .. ".in", "w"))
    f:write(input)
    f:close()
    feed = "<" .. file .. ".in"
  end
  local pipe = assert(io.popen(("( %s ) %s 2>&1; echo \"[$?]\""):format(command, feed)))
  local text = pipe:read "a"
  pipe:close()
  os.remove(file)
  os.remove(file .. ".in")
  local out, status = text:match "^(.*)%[(%d+)%]\n$"
  return out, tonumber(status)
end

--- Returns a new file name. The caller removes the file.
function support.temporary(suffix)
  local name = os.tmpname()
  os.remove(name)
  return name .. (suffix or "")
end

function support.have_gnuplot()
  local text = support.run "gnuplot --version"
  return text:find "^gnuplot" ~= nil
end

--- Draws a plot as PNG, and fails if the picture is blank. Returns its width and height. A blank picture is recognised by its
--- size: it has about three thousand bytes.
function support.picture(plot)
  local path = support.temporary ".png"
  plot:save(path)
  local data = support.read(path)
  os.remove(path)
  assert(data:sub(1, 8) == "\137PNG\r\n\26\n", "not a PNG")
  assert(#data > 5000, "the picture is blank")
  return (">I4I4"):unpack(data, 17)
end

function support.write(path, text)
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
end

function support.read(path)
  local file = assert(io.open(path, "r"))
  local text = file:read "a"
  file:close()
  return text
end

--- Returns the checksum of a text, as the file of a learned model contains it.
function support.fnv(text)
  local h = -3750763034362895579
  for at = 1, #text do h = (h ~ text:byte(at)) * 1099511628211 end
  return ("%016x"):format(h)
end

function support.names(list)
  local out = {}
  for n, item in ipairs(list) do out[n] = item.name end
  return out
end

-- Checks that parsing the text form gives the same program. Checks nothing if tests/bench/house.lua has set NW_SCRAMBLE: the words
-- of printed texts are then reversed.
local function reads_back(s) assert(os.getenv "NW_SCRAMBLE" or s:reparses()) end

--- Checks that every way of running the schedule computes what the definition says, on small shapes. Also checks that parsing the
--- text gives the same program.
function support.agrees(s)
  local report = s:check()
  assert(report:find "agree", report)
  assert(not report:find "differ", report)
  reads_back(s)
end

--- Does the same as support.agrees, but on the shapes of the computation and with whole numbers as inputs. All results must have
--- the same bits.
function support.computes(s, outputs)
  local nw = require "nestwright"
  local data = {}
  for n, t in ipairs(s:inputs()) do
    data[n] = nw.zeros(t:shape(), t.dtype)
    for i = 1, data[n]:count() do data[n]:setflat(i, (i * 7 + 3 * n) % 11) end
  end
  local want = nw.evaluate(outputs, data)
  local ways = {nw.interpret(s, data), nw.interpret(s, data, {lowered = true}), {s:build()(table.unpack(data))}}
  for way, got in ipairs(ways) do
    for n, array in ipairs(want) do
      for i = 1, array:count() do
        local x, y = array:getflat(i), got[n]:getflat(i)
        assert(x == y, ("way of running %d, output %d at %d: got %s, want %s"):format(way, n, i, y, x))
      end
    end
  end
  reads_back(s)
end

--- Checks that every way of running the schedule agrees with the definition. All inputs are random, with this shape and dtype. By
--- default, the results must have the same bits.
function support.agrees_with(s, outputs, shape, dtype, tolerance)
  local nw = require "nestwright"
  local data, near = {}, {rtol = tolerance or 0, atol = tolerance or 0}
  for n in ipairs(s:inputs()) do data[n] = nw.random(shape, dtype, {seed = n, lo = dtype:find "^u" and 0 or -4, hi = 4}) end
  local want = nw.evaluate(outputs, data)
  for n, t in ipairs(s:inputs()) do data[n] = s:pack(t.name, data[n]) end
  local native = {s:build {threads = 2}(table.unpack(data))}
  for _, got in ipairs {nw.interpret(s, data), nw.interpret(s, data, {lowered = true}), native} do
    for n, t in ipairs(s:outputs()) do assert(nw.allclose(want[n], s:unpack(t.name, got[n]), near)) end
  end
end

--- Checks that the trace, both as Lua code and as JSON, makes the identical program on a new schedule of the same computation.
function support.replays(s, make)
  local pasted = make()
  assert(load("local s = ... " .. s:trace()))(pasted)
  assert(s:text() == pasted:text(), s:trace())
  assert(s:text() == make():replay(s:trace "json"):text(), s:trace())
end

--- Calls f, which makes a step that must be refused, and checks that the schedule is unchanged.
function support.untouched(s, f)
  local before = s:text()
  f()
  assert(before == s:text(), "a refused step changed the schedule")
end

--- Checks that a step fails, as support.fails does, and that the schedule is unchanged.
function support.refuses(s, pattern, code, f, ...)
  local before = s:text()
  local err = support.fails(pattern, code, f, ...)
  assert(before == s:text(), "a refused step changed the schedule")
  return err
end

--- Checks that f fails with an error of the library. The whole text of the error must contain these words.
function support.fails_saying(words, f, ...)
  local err = support.error_of(f, ...)
  assert(type(err) == "table", "not an error of the library: " .. tostring(err))
  assert(tostring(err):find(words, 1, true), ("expected '%s' in: %s"):format(words, tostring(err)))
  return err
end

--- Compares a text with a golden file. With UPDATE_GOLDEN=1, rewrites the file instead.
function support.golden(file, text)
  local path = "tests/golden/" .. file
  if os.getenv "UPDATE_GOLDEN" then return support.write(path, text) end
  local readable, golden = pcall(support.read, path)
  assert(readable, path .. " is missing; UPDATE_GOLDEN=1 writes it")
  assert(text == golden, ("%s differs from the new text:\n%s"):format(path, text))
end

--- Returns the schedule of the matrix product C = A B, and the tensors C, A and B.
function support.gemm(m, n, k)
  local nw = require "nestwright"
  n, k = n or m, k or m
  local A, B = nw.placeholder({m, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  local r = nw.reduce_axis(k, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
  return nw.schedule(C), C, A, B
end

--- Returns the schedule of Y = 2A, where A has n elements.
function support.doubled(n)
  local nw = require "nestwright"
  local A = nw.placeholder({n}, "f32", "A")
  return nw.schedule(nw.compute({n}, function(i) return A(i) * 2 end, "Y"))
end

--- Makes two stages of n elements. X reads no tensor, and Y reads each element of X.
function support.staged(n)
  local nw = require "nestwright"
  local A = nw.placeholder({n}, "f32", "A")
  local X = nw.compute({n}, function(i) return nw.exp(nw.cast(i, "f32") / 64) end, "X")
  local Y = nw.compute({n}, function(i) return X(i) * A(i) end, "Y")
  return nw.schedule(Y), X, Y
end

--- Makes P = 2A and Y = P + 1. All three tensors have the shape m x n.
function support.two_stages(m, n)
  local nw = require "nestwright"
  local A = nw.placeholder({m, n}, "f32", "A")
  local P = nw.compute({m, n}, function(i, j) return A(i, j) * 2 end, "P")
  local Y = nw.compute({m, n}, function(i, j) return P(i, j) + 1 end, "Y")
  return nw.schedule(Y), Y, P, A
end

--- Makes X = 2A, and Y, each element of which is the sum of two elements of X. The shape of X is n x n.
function support.stencil(n)
  local nw = require "nestwright"
  local A = nw.placeholder({n, n}, "f32", "A")
  local X = nw.compute({n, n}, function(i, j) return A(i, j) * 2 end, "X")
  local Y = nw.compute({n - 2, n - 2}, function(i, j) return X(i, j) + X(i + 2, j + 2) end, "Y")
  return nw.schedule(Y), X, Y
end

--- Makes X = 2A, and R, which has the sums of the rows of X. X has the shape M x N.
function support.row_sums()
  local nw = require "nestwright"
  local M, N = nw.size("M", {min = 0}), nw.size("N", {min = 0})
  local A = nw.placeholder({M, N}, "f32", "A")
  local k = nw.reduce_axis(N, "k")
  local X = nw.compute({M, N}, function(i, j) return A(i, j) * 2 end, "X")
  local R = nw.compute({M}, function(i) return nw.sum(X(i, k), k) end, "R")
  return nw.schedule(R), M, N, X, R
end

return support
