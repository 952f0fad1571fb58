--- Types slips of people who know other languages at a real prompt. Each must be answered with one sentence that names the slip and
--- shows the right form, and the right form must run.
local cases = require "slip_cases"
local session = require "slip_session"
local support = require "support"

describe("a slip", function()
  local state, open = support.temporary(), nil

  local function prompt()
    open = open or session.open(support.program, state)
    return open
  end

  local function leave()
    if open then open:close() end
    open = nil
  end

  teardown(function()
    leave()
    os.execute(("rm -rf '%s'"):format(state))
  end)

  for _, case in ipairs(cases.cases) do
    it("is answered with one sentence: " .. case.name, function()
      if case.leaves then leave() end
      local fault, answer = prompt():fault(case)
      assert.is_nil(fault, ("%s: %s"):format(case.typed, answer))
      if not case.leaves then return end
      open.child:send(case.right .. "\n")
      assert.equal(0, (open.child:finish()))
      open = nil
    end)
  end

  it("is not seen in valid programs", function()
    leave()
    for _, code in ipairs(cases.valid) do
      local fault, answer = prompt():complaint(code)
      assert.is_nil(fault, ("%s: %s"):format(code, answer))
    end
  end)

  it("is tested for each row of the tables that Lua cannot read or run", function()
    local named, missing = {}, {}
    local repair, slips = require "nestwright.slips.repair", require "nestwright.slips.slips"
    for _, case in ipairs(cases.cases) do
      local name = select(3, repair.explain(case.typed))
      if name then named[name] = true end
    end
    for _, row in ipairs(require "nestwright.slips.grammar") do
      if not named[row.name] then missing[#missing + 1] = row.name end
    end
    assert.same({}, missing)
    assert.is_nil(slips.of_error "nowhere.lua:1: unexpected symbol near 'x'")
  end)
end)

describe("a slip in a script", function()
  local file = support.temporary ".lua"

  local function says(expected, text)
    support.write(file, text)
    local out, status = support.run(support.program .. " " .. file)
    assert.equal(1, status)
    assert.truthy(out:find(expected, 1, true), out)
  end

  teardown(function() os.remove(file) end)

  it("is explained with the line of the file", function()
    says(file .. ":3: `A[i, j]` does not read an element in Lua, but parentheses do: write `A(i, j)`\n",
      'local nw = require "nestwright"\nlocal A = nw.placeholder({4, 4}, "f32", "A")\n'
      .. 'local C = nw.compute({4, 4}, function(i, j) return A[i, j] end, "C")\n')
    says(file .. ":2: `len(x)` is not a function of Lua: write `#x`\n", "local x = {}\nprint(len(x))\n")
    says(file .. ":4: split needs loop, but `i` is a variable without a value: write `s:split(\"i\", 2)`, with the name in quotes",
      'local nw = require "nestwright"\nlocal C = nw.compute({4}, function(i) return i end, "C")\nlocal s = nw.schedule(C)\n'
      .. "s:split(i, 2)\n")
  end)

  it("is explained for code of the command line", function()
    local out = support.run(support.program .. " -e 'print(len({}))'")
    assert.truthy(out:find("(command line):1: `len({})` is not a function of Lua: write `#({})`", 1, true), out)
  end)

  it("is explained in blocks of Python", function()
    says(file .. ":1: `def f(x):`, `if x == 1:`, `elif x == 2:` and `else:` are not Lua: write `function f(x) "
      .. "if x == 1 then return 2 elseif x == 2 then return 3 else return 4 end end print(f(1))`",
      "def f(x):\n  if x == 1:\n    return 2\n  elif x == 2:\n    return 3\n  else:\n    return 4\nprint(f(1))\n")
    says(file .. ":1: `try:` is Python", "try:\n  error 'a'\nexcept E as e:\n  print(e)\n")
  end)
end)
