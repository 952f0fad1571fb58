--- nw.display and its kin, at the prompt and with a front end that only notes what it is told.
local nw = require "nestwright"
local display = require "nestwright.display"
local json = require "nestwright.json"
local support = require "support"
local fails = support.fails

local function with_front(f)
  local seen = {}
  display.connect {publish = function(kind, content) seen[#seen + 1] = {kind, json.decode(content)} end,
    ask = function(prompt, password) return prompt .. tostring(password) end}
  local ok, err = pcall(f, seen)
  display.connect(nil)
  if not ok then error(err, 0) end
  return seen
end

local function printed(f)
  local lines, real = {}, print
  rawset(_G, "print", function(...) lines[#lines + 1] = table.concat({...}, "\t") end)
  local ok, err = pcall(f)
  rawset(_G, "print", real)
  if not ok then error(err, 0) end
  return lines
end

describe("nw.display", function()
  it("prints at the prompt, and updates below", function()
    assert.same({"{1, 2}", "3"}, printed(function() nw.display({1, 2}):update(3) end))
  end)

  it("shows in a notebook what a value is, and changes it in its place", function()
    local seen = with_front(function()
      nw.display(nw.html "<b>x</b>", {id = "mine"}):update(7)
      nw.display((support.gemm(4, 4, 4)))
    end)
    assert.equal("display_data", seen[1][1])
    assert.equal("<b>x</b>", seen[1][2].data["text/html"])
    assert.equal("mine", seen[1][2].transient.display_id)
    assert.equal("update_display_data", seen[2][1])
    assert.same({["text/plain"] = "7"}, seen[2][2].data)
    assert.equal("mine", seen[2][2].transient.display_id)
    assert.truthy(seen[3][2].data["text/html"]:find "<span")
    assert.truthy(seen[3][2].data["text/plain"]:find "for i in 0%.%.4")
  end)

  it("shows pictures, and no bytes that are no text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local seen = with_front(function()
      nw.display(nw.spacetime((support.gemm(2, 2, 2)), {levels = {{bytes = 256, ways = 2}}}))
      nw.display(nw.html "a\xFFb")
    end)
    assert.truthy(seen[1][2].data["image/svg+xml"]:find "<svg")
    assert.truthy(seen[1][2].data["text/plain"]:find "accesses")
    assert.equal("a\u{FFFD}b", seen[2][2].data["text/html"])
  end)

  it("complains of what it does not know", function()
    fails("unknown option", "invalid", nw.display, 1, {name = 1})
    fails("display: id: expected a string", "invalid", nw.display, 1, {id = 7})
    fails("html: expected a string", "invalid", nw.html, 7)
  end)
end)

describe("nw.progress", function()
  it("shows at most ten changes a second, and the last", function()
    local seen = with_front(function()
      local p = nw.progress(1000, "tiles")
      for n = 1, 1000 do p:step(1, n == 1000 and "best 3 ms" or nil) end
    end)
    assert.is_true(#seen < 20)
    assert.equal("display_data", seen[1][1])
    assert.truthy(seen[#seen][2].data["text/plain"]:find("tiles [##############################] 1000 of 1000, best 3 ms", 1, true))
    assert.truthy(seen[#seen][2].data["text/html"]:find("value='1000'", 1, true))
  end)

  it("takes any number of steps", function()
    local seen = with_front(function() nw.progress(0) end)
    assert.truthy(seen[1][2].data["text/plain"]:find "0 of 0")
    fails("number of steps", "invalid", nw.progress, -1)
    fails("number of steps", "invalid", nw.progress, "x")
  end)
end)

describe("nw.clear_output and nw.input", function()
  it("are the front end's", function()
    local seen = with_front(function()
      nw.clear_output(true)
      assert.equal("name? false", nw.input "name? ")
      assert.equal("key true", nw.input("key ", {password = true}))
    end)
    assert.same({"clear_output", {wait = true}}, seen[1])
  end)

  it("do no harm at the prompt", function()
    nw.clear_output()
    fails("unknown option", "invalid", nw.input, "x", {hidden = true})
  end)
end)
