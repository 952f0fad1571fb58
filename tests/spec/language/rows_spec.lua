--- Tests the rows. A row documents one public function, method or field. Every row must have a description and occur in a spec. The
--- reference and the editor's file must be generated from the current rows.
local nw = require "nestwright"
local rows = require "nestwright.language.rows"
local help = require "nestwright.show.help"
local support = require "support"

local function all_specs()
  local text = {}
  local list = io.popen "cat tests/spec/*.lua tests/spec/*/*.lua tutorials/*.lua tests/prop/*.lua"
  text[1] = list:read "a"
  list:close()
  return table.concat(text)
end

describe("the rows", function()
  it("are documented", function()
    for _, row in ipairs(rows.all()) do
      local where = row.class .. "." .. row.name
      assert.is_true(#row.doc > 8 and row.doc:find "%.$" ~= nil or row.doc:find "Example: " ~= nil, where)
      assert.is_true(row.field or row.signature:find "^%(" ~= nil, where)
    end
  end)

  it("are each named in at least one spec", function()
    local text = all_specs()
    local missing = {}
    for _, row in ipairs(rows.all()) do
      local name = row.name
      local named = text:find("[.:]" .. name .. "%f[^%w_]") or text:find('"' .. name .. '"', 1, true)
      if not named then missing[#missing + 1] = row.class .. "." .. name end
    end
    assert.equal("", table.concat(missing, " "))
  end)

  it("cover every function of nw", function()
    local known = {}
    for _, row in ipairs(rows.all()) do
      if row.class == "nw" then known[row.name] = true end
    end
    local alias = {var = true, create_schedule = true}
    for name, value in pairs(nw) do
      if type(value) == "function" and not alias[name] then assert.is_true(known[name], name) end
    end
  end)

  -- Functions of the public header that the Lua library does not need. A Lua object holds one reference, so no object is retained
  -- again. Each operation has a Lua function of its own, so no names of operations are parsed. The session owns the pools.
  local NOT_BOUND = {
    nw_array_retain = true, nw_axis_retain = true, nw_kernel_retain = true, nw_program_retain = true,
    nw_sched_retain = true, nw_tensor_retain = true, nw_op_parse = true, nw_pool_ctx = true,
  }

  it("cover every function of the public header", function()
    local function all(files)
      local pipe <close> = io.popen("cat " .. files)
      return pipe:read "a"
    end
    local sources = all "lua/bind/*.c lua/host/*.c repl/*.c"
    local missing = {}
    for line in all "core/include/nestwright/*.h":gmatch "[^\n]+" do
      local name = line:match "^NW_API.-(nw_[%l%d_]+)%("
      if name and not NOT_BOUND[name] and not sources:find(name .. "%f[^%w_]") then missing[#missing + 1] = name end
    end
    assert.equal("", table.concat(missing, " "))
  end)

  it("name every primitive in the page on scheduling", function()
    local page, missing = support.read "docs/schedule.md", {}
    for _, p in ipairs(require "nestwright.core".primitives()) do
      if not page:find("`" .. p.name .. "`", 1, true) then missing[#missing + 1] = p.name end
    end
    assert.equal("", table.concat(missing, " "))
  end)

  it("show how to call functions of modules, and list the fields of errors", function()
    assert.truthy(tostring(nw.help "gemm"):find("nw.xsmm.gemm(spec", 1, true))
    assert.truthy(tostring(nw.help()):find "Functions of nw.xsmm\n  available gemm")
    local reference = support.read "docs/reference.md"
    for _, field in ipairs {"error.source: string?", "error.refusal: nw.refusal?", "refusal.sink_block: string?",
      "refusal.source_block: string?", "refusal.distance: string?"} do
      assert.truthy(reference:find(field, 1, true), field)
    end
  end)

  it("provide the texts of help", function()
    assert.truthy(tostring(nw.help()):find "Methods of a kernel")
    assert.truthy(tostring(nw.help "split"):find "schedule:split%(loop: nw.loop|string")
    assert.truthy(tostring(nw.help(nw.sum)):find "nw.sum%(term")
    assert.equal(tostring(nw.help()), tostring(nw.help(nw)))
    assert.truthy(tostring(nw.help(nw.zeros {2})):find "array:set%(")
    assert.truthy(tostring(nw.help {}):find "there is no help for a table")
    assert.falsy(tostring(nw.help "loopnest.cost"):find("schedule:cost", 1, true))
    assert.truthy(tostring(nw.help "s:cost"):find("schedule:cost", 1, true) and tostring(nw.help "s:cost"):find "loopnest:cost")
    assert.truthy(tostring(nw.help "reciprocal"):find "nothing is named")
    assert.truthy(tostring(nw.help "packing"):find "mention" or tostring(nw.help "packing"):find "nothing")
    for _, row in ipairs(rows.all()) do assert.truthy(#help.describe(row) > 10) end
  end)

  it("agree with the reference and with the editor's file", function()
    local reference, meta = support.temporary ".md", support.temporary ".lua"
    local out, status = support.run(("%s tests/tools/reference.lua %s %s"):format(support.program, reference, meta))
    assert.equal(0, status, out)
    local hint = "out of date: run ./dev doc"
    assert.equal(support.read(reference), support.read "docs/reference.md", hint)
    assert.equal(support.read(meta), support.read "lua/meta/nestwright.lua", hint)
    assert.truthy(loadfile(meta))
    os.remove(reference)
    os.remove(meta)
  end)
end)
