--- Tests nw.beside, which shows values in columns.
local nw = require "nestwright"
local support = require "support"

local function page(...) return nw.beside(...).render "html" end

describe("nw.beside", function()
  it("has a column for each list, whose first value is the heading", function()
    local text = page {{"before", 1, "a < b"}, {"after", 2}}
    assert.equal(1, select(2, text:gsub("<table>", "")))
    assert.equal(2, select(2, text:gsub("<th ", "")))
    assert.equal(4, select(2, text:gsub("<td ", "")))
    assert.truthy(text:find("a &lt; b", 1, true))
  end)

  it("begins a new row after `most` columns", function()
    local columns = {}
    for n = 1, 5 do columns[n] = {("way %d"):format(n), n} end
    assert.equal(3, select(2, page(columns, {most = 2}):gsub("<table>", "")))
    assert.equal(1, select(2, page(columns):gsub("<table>", "")))
  end)

  it("hides the bodies of loops to save space, and draws pictures", function()
    local s = support.gemm(17, 17, 4)
    s:split("i", 4, {tail = "cut"})
    local text = page({{"loops", s}, {"again", s}, {"more", s}, {"most", s}})
    for line in text:match("<pre>(.-)</pre>"):gmatch "[^\n]+" do
      local shown = line:gsub("&%w+;", "x")
      assert.is_true(#shown <= 112 // 4 + 12, line)
    end
    if support.have_gnuplot() then assert.truthy(page({{"pieces", nw.pieces(s)}}):find("<img ", 1, true)) end
  end)

  it("shows values side by side as text, or one below the other if they are too wide", function()
    assert.equal("one   two\na     b\nc", tostring(nw.beside {{"one", "a", "c"}, {"two", "b"}}))
    assert.equal("one   two\n\nthree", tostring(nw.beside({{"one"}, {"two"}, {"three"}}, {most = 2})))
    local wide = ("x"):rep(80)
    assert.equal(("one\n%s\n\ntwo\n%s"):format(wide, wide), tostring(nw.beside {{"one", wide}, {"two", wide}}))
    local s = support.doubled(4)
    local text = tostring(nw.beside {{"one", s, 7}, {"two", nw.pieces(s)}})
    for _, word in ipairs {"one", "for i in 0..4", "7", "two", "4 instances"} do assert.truthy(text:find(word, 1, true), text) end
    assert.is_nil(text:find("[<\"]"))
  end)

  it("says which arguments are valid", function()
    support.fails("there are no columns", "invalid", nw.beside, {})
    support.fails("columns%[2%]: expected a list", "invalid", nw.beside, {{"a"}, "b"})
    support.fails("is not a number of columns", "invalid", nw.beside, {{"a"}}, {most = 0})
    support.fails("options.most: expected a whole number, got a string", "invalid", nw.beside, {{"a"}}, {most = "two"})
    support.fails("unknown option", "invalid", nw.beside, {{"a"}}, {wide = 3})
  end)
end)
