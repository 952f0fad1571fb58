--- Tests help by topic, and that each method of each value is documented.
local nw = require "nestwright"
local complete = require "nestwright.show.complete"
local core = require "nestwright.core"
local help = require "nestwright.show.help"
local prompt = require "nestwright.show.prompt"
local rows = require "nestwright.language.rows"
local support = require "support"
local values = require "show.values"

local function lines_of(text)
  local list = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do list[#list + 1] = line end
  return list
end

describe("help by topic", function()
  it("lists the functions of a topic with one line each", function()
    local lines = lines_of(tostring(nw.help "timing"))
    assert.truthy(lines[1]:find "^timing: ")
    local listed = {}
    for n = 2, #lines do
      local name, about = lines[n]:match "^  (%S+)%s+(%u.*)$"
      assert.truthy(name, lines[n])
      assert.is_true(#lines[n] <= 132, lines[n])
      listed[name] = about
    end
    assert.equal("Measures the kernel on these tensors, or on random inputs if none are given.", listed["kernel:time"])
    for _, name in ipairs {"nw.compare", "schedule:time", "nw.sweep", "time:plot"} do assert.truthy(listed[name], name) end
    assert.is_nil(listed["schedule:split"])
  end)

  it("has a topic for each row, with a line for each of its rows", function()
    local seen, names = {}, {}
    for _, row in ipairs(rows.all()) do
      seen[row.topic], names[row.name] = (seen[row.topic] or 0) + 1, true
    end
    local overview = tostring(nw.help())
    for topic, count in pairs(seen) do
      assert.is_true(count > 1, topic)
      assert.is_nil(names[topic], "a row has the name of the topic " .. topic)
      assert.equal(count + 1, #lines_of(tostring(nw.help(topic))), topic)
      assert.truthy(overview:find("%f[%w]" .. topic .. "%f[%W]"), topic)
    end
  end)

  it("suggests similar words for an unknown topic", function()
    assert.truthy(tostring(nw.help "timin"):find("nothing is named 'timin'; did you mean 'timing'?", 1, true))
    assert.truthy(tostring(nw.help "notebok"):find("did you mean 'notebook'?", 1, true))
    assert.truthy(tostring(nw.help "zzzz"):find("nothing is named 'zzzz'; nw.help() lists everything", 1, true))
  end)

  it("has the topics gpu and accelerators", function()
    local gpu, accelerators = tostring(nw.help "gpu"), tostring(nw.help "accelerators")
    for _, name in ipairs {"nw.simulate", "schedule:gpu_counts", "nw.waves", "nw.bank_conflicts", "gpusteps:plot"} do
      assert.truthy(gpu:find("  " .. name .. " ", 1, true), name)
    end
    for _, name in ipairs {"nw.accelerator", "schedule:stream", "stream:drop", "streamrun:plot_queues"} do
      assert.truthy(accelerators:find("  " .. name .. " ", 1, true), name)
    end
    local one = tostring(nw.help "accelerator")
    assert.truthy(one:find("nw.accelerator(machine", 1, true), one)
    assert.truthy(one:find('nw.help "accelerators" lists the functions of the topic accelerators', 1, true), one)
  end)

  it("knows the topics at a question mark and in completion", function()
    assert.equal(tostring(nw.help "memory"), (complete.inspect "?memory"))
    assert.same({"notebook"}, (complete.complete '?noteb'))
    assert.same({"notebook"}, (complete.complete 'nw.help "noteb'))
  end)

  -- Once, only the first 256 words were compared.
  it("finds a similar word at the end of a long list", function()
    local words = {}
    for n = 1, 400 do words[n] = ("%d%d"):format(n, n) end
    words[401] = "vectorize"
    assert.equal("vectorize", core.nearest("vectorise", words))
  end)
end)

describe("an object that is asked for help", function()
  it("says which function has it", function()
    local s = support.gemm(8)
    support.fails("nw.help%(x%), where x is a schedule, lists its methods and fields", "invalid", function() return s.help end)
    support.fails("nw.help%(x%), where x is a schedule", "invalid", function() s:help() end)
    support.fails("nw.help%(x%), where x is a kernel", "invalid", function() return s:build().help end)
    support.fails("did you mean 'split'", "invalid", function() return s.splt end)
  end)

  it("says so for values of this library that are tables", function()
    rawset(_G, "test_times", nw.timings {a = {samples = {1, 2}}})
    package.loaded["nestwright.sources"] = package.loaded["nestwright.sources"] or {}
    local sources = package.loaded["nestwright.sources"]
    local before = sources[0]
    sources[0] = "test_times.help"
    assert.equal("nil: test_times has no field help; nw.help(test_times) lists its methods and fields", prompt.display(false, nil))
    sources[0] = before
    local _, problem = pcall(load "test_times:help()")
    assert.truthy(prompt.error_text(problem, nil, false):find("hint: nw.help(x) lists the methods of an object x", 1, true))
    rawset(_G, "test_times", nil)
  end)
end)

describe("the methods of values", function()
  -- Once, methods of pictures, misses, audits and others had no rows, so they were missing in the reference and in help.
  it("are all in the reference, in help and in completion", function()
    local reference = support.read "docs/reference.md"
    local seen = {}
    for _, kind in ipairs(values.kinds) do
      local value = not kind[3] and kind[2]()
      local meta = debug.getmetatable(value)
      local ours = type(meta) == "table" and tostring(rawget(meta, "__name")):find "^nestwright%."
      rawset(_G, "test_value", value)
      local own = type(value) == "table" and value or {} -- fields of the value itself are not methods
      for name in pairs(ours and complete.members(value, true) or {}) do
        local row, where = rows.of(complete.member(value, name)), ("%s:%s"):format(kind[1], name)
        if not rawget(own, name) then
          assert.truthy(row, where)
          assert.truthy(reference:find("    " .. help.usage(row), 1, true), where)
          assert.truthy(tostring(nw.help(row.class .. "." .. row.name)):find(help.usage(row), 1, true), where)
          seen[row.class] = true
        end
        assert.same({"test_value:" .. name}, {(complete.complete("test_value:" .. name))[1]}, where)
      end
    end
    rawset(_G, "test_value", nil)
    for _, class in ipairs {"plot", "misses", "audit", "comparison", "sweep", "time", "kernel", "schedule", "array", "machine"} do
      assert.is_true(seen[class], class)
    end
  end)

  -- Once, help and the reference listed the methods of streams and their runs only if they were asked for each of them.
  it("are listed for every class in the overview of help and in the reference", function()
    local titled, reference, overview = {}, support.read "docs/reference.md", tostring(nw.help())
    for _, title in ipairs(help.titles) do
      titled[title[1]] = true
      assert.truthy(reference:find("\n## " .. title[2] .. "\n", 1, true), title[1])
    end
    for _, row in ipairs(rows.all()) do
      assert.is_true(titled[row.class], row.class)
      assert.truthy(reference:find("    " .. help.usage(row), 1, true), help.usage(row))
      assert.truthy(overview:find("%f[%w_]" .. row.name .. "%f[^%w_]"), help.usage(row))
    end
  end)

  it("can be called on every report that has a plot", function()
    local s = support.gemm(8)
    local reports = {nw.misses(s, {levels = {{bytes = 1024, ways = 4}}}), nw.nest.of(s):cost {machine = "zen5"}}
    pcall(s.parallel, s, "k")
    reports[#reports + 1] = s:explain()
    for _, report in ipairs(reports) do assert.truthy(report:plot {title = "a title"}.caption) end
  end)

  it("are documented for every class of the binding", function()
    for name, meta in pairs(core.classes) do
      for key, method in pairs(type(meta.__methods) == "table" and meta.__methods or {}) do
        assert.truthy(rows.of(method) or rows.named(name .. "." .. key)[1], name .. "." .. key)
      end
    end
  end)
end)
