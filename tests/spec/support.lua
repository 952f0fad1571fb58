--- Shared by the specs.
local support = {}

support.build = os.getenv "NW_BUILD" or "build/dev"
support.program = support.build .. "/bin/nestwright"

--- The error a function raises; fails when it raises none.
function support.error_of(f, ...)
  local ok, err = pcall(f, ...)
  assert(not ok, "an error was expected")
  return err
end

--- Checks that f fails with an error of the library whose message has the pattern, at this file's line when given.
function support.fails(pattern, code, f, ...)
  local err = support.error_of(f, ...)
  assert(type(err) == "table", "not an error of the library: " .. tostring(err))
  local text = err.message .. "\n" .. (err.hint or "")
  assert(text:find(pattern), ("expected '%s' in: %s"):format(pattern, text))
  if code then assert(err.code == code, ("expected code %s, got %s: %s"):format(code, err.code, err.message)) end
  return err
end

--- Runs a command; its standard output and error together, and its exit status as a shell gives it.
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

--- A fresh file name; the file is gone after the spec when cleaned up by the caller.
function support.temporary(suffix)
  local name = os.tmpname()
  os.remove(name)
  return name .. (suffix or "")
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

--- A matrix product and what it is made of.
function support.gemm(m, n, k)
  local nw = require "nestwright"
  n, k = n or m, k or m
  local A, B = nw.placeholder({m, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  local r = nw.reduce_axis(k, "k")
  local C = nw.compute({m, n}, function(i, j) return nw.sum(A(i, r) * B(r, j), r) end, "C")
  return nw.schedule(C), C, A, B
end

return support
