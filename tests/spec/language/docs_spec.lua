--- Tests that the pages of docs/ show what the program prints.
local nw = require "nestwright"
local support = require "support"

local PAGE = support.read "docs/language.md"

-- Returns a text in the form of an example on a page.
local function indented(text) return "\n\n    " .. text:gsub("\n+$", ""):gsub("\n", "\n    ") .. "\n\n" end

local function shows(text) assert.truthy(PAGE:find(indented(text), 1, true), text) end

describe("the page on the language shows", function()
  it("the short form", function()
    local s, C, _, B = support.gemm(1024)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 15, 32)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 32, k, j % 32 end})
    s:reorder(i_o, j_o, "k", i_i, j_i)
    local copy = s:cache_write(C, "local", {at = j_o})
    local i, j, k = s[copy]:axes()
    s:reorder(k, i, j)
    s:vectorize(j)
    s:unroll(i)
    s:parallel(i_o)
    shows(tostring(s))
    assert.truthy(tostring(s:show "lowered"):find("for i_i in 0..min(1024 - 15*i_o, 15):", 1, true))
  end)

  it("the lines of TVM in Lua", function()
    local code = assert(PAGE:match "\n\n(    te = nw%.te.-)\n\n|", "no example found")
    local env = setmetatable({nw = nw}, {__index = _G})
    assert(load(code, "=language.md", "t", env))()
    assert.same({"i_o", "k_o", "i_i", "k_i", "j"}, support.names(env.s:loops()))
    support.agrees(env.s)
  end)

  it("the full form, and parsing it gives the same program", function()
    local s, C = support.gemm(nw.size("M", {multiple = 16}), 1024, 1024)
    s:split("i", 16)
    s:cache_write(C, "local", {at = "i_o"})
    shows(s:text())
    assert.is_true(s:reparses())
  end)

  it("an intrinsic that is refused", function()
    local code = assert(PAGE:match "\n\n(    local A, B = .-)\n\nThis intrinsic is refused", "no example found")
    local env = setmetatable({nw = nw}, {__index = _G})
    support.fails_saying("failed its trial: C[", assert(load(code, "=language.md", "t", env)))
    assert(load(code:gsub("C%[i%*lda", "C[i*ldc"), "=language.md", "t", env))()
  end)
end)

describe("the page on the language has", function()
  it("a stage of calls", function()
    local code = assert(PAGE:match "### Stages of calls.-\n\n(    local x, y = .-)\n\nIn TVM", "no example found")
    local env = setmetatable({nw = nw}, {__index = _G})
    local C = assert(load(code .. "\n    return C", "=language.md", "t", env))()
    support.agrees(nw.schedule(C))
  end)
end)

describe("the page on memory", function()
  it("shows what its example prints", function()
    local page, printed = support.read "docs/memory.md", {}
    local code = {}
    for block in page:gmatch "\n\n(    [^\n]*local A, B.-)\n\n" do code[#code + 1] = block end
    code[#code + 1] = page:match "\n\n(    s:tile.-)\n\n"
    assert.equal(2, #code)
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    assert(load(table.concat(code, "\n"), "=memory.md", "t", env))()
    assert.equal(2, #printed)
    for _, text in ipairs(printed) do assert.truthy(page:find(indented(text), 1, true), text) end
  end)
end)

describe("the page on the order of instances", function()
  it("shows what its examples print", function()
    local page, code, printed = support.read "docs/order.md", {}, {}
    for block in (page .. "\n\n"):gmatch "\n\n(    .-)\n\n" do
      if load(block) then code[#code + 1] = block end
    end
    assert.equal(3, #code)
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    assert(load(table.concat(code, "\n"), "=order.md", "t", env))()
    assert.equal(3, #printed)
    for _, text in ipairs(printed) do assert.truthy(page:find(indented(text), 1, true), text) end
  end)
end)

describe("the page on scheduling", function()
  it("shows what its examples print", function()
    local page, code, printed = support.read "docs/schedule.md", {}, {}
    for block in (page .. "\n\n"):gmatch "\n\n(    .-)\n\n" do
      if load(block) and not block:find "export" then code[#code + 1] = block end
    end
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    for _, block in ipairs(code) do assert(load(block, "=schedule.md", "t", env))() end
    local prints = select(2, table.concat(code, "\n"):gsub("print%(", ""))
    assert.truthy(#code >= 8)
    assert.equal(prints, #printed)
    for _, text in ipairs(printed) do assert.truthy(page:find(indented(text), 1, true), text) end
  end)
end)

describe("the page on pictures", function()
  it("shows what its examples print", function()
    local page, code, printed = support.read "docs/pictures.md", {}, {}
    for block in (page .. "\n\n"):gmatch "\n\n(    .-)\n\n" do
      if load(block) then code[#code + 1] = block end
    end
    assert.equal(2, #code)
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    assert(load(table.concat(code, "\n"), "=pictures.md", "t", env))()
    assert.equal(1, #printed)
    assert.truthy(page:find(indented(printed[1]), 1, true), printed[1])
  end)
end)

describe("the page on partitioning", function()
  it("shows what its examples print", function()
    local page, code, printed = support.read "docs/partition.md", {}, {}
    for block in (page .. "\n\n"):gmatch "\n\n(    .-)\n\n" do
      if load(block) then code[#code + 1] = block end
    end
    assert.equal(5, #code)
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    assert(load(table.concat(code, "\n"), "=partition.md", "t", env))()
    assert.equal(4, #printed)
    for _, text in ipairs(printed) do assert.truthy(page:find(indented(text), 1, true), text) end
  end)

  it("lists every strategy with the text of its row", function()
    local page = support.read "docs/partition.md"
    for _, row in ipairs(require "nestwright.partition.strategies".rows) do
      assert.truthy(page:find(("| `%s` | %s |"):format(row[1], row[2]), 1, true), row[1])
    end
  end)
end)

describe("the page on cost", function()
  local page = support.read "docs/cost.md"

  it("shows a valid machine record, and a record that is refused", function()
    local block = assert(page:match "\n\n(    return {.-\n    })\n", "no example found")
    local m = nw.machine(assert(load(block))())
    assert.same({"desk", 5.2, 96 << 20, 15}, {m.name, m.clock, m.caches[3].bytes, m.ops.sqrt.latency})
    assert.truthy(select(2, block:gsub("\n", "")) < 20)
    local wrong, message = page:match "\n\n    (nw%.machine{[^\n]+)\n\n    ([^\n]+)\n"
    support.fails_saying(message, assert(load(wrong, "=cost.md", "t", setmetatable({nw = nw}, {__index = _G}))))
  end)

  it("has an example that reads existing fields", function()
    local block = assert(page:match "\n\n(    local zen.-)\n\n", "no example found")
    local shown
    assert(load(block, "=cost.md", "t", {nw = nw, print = function(...) shown = {...} end}))()
    assert.same({4.2, 2, 1 << 20}, {table.unpack(shown, 1, 3)})
  end)
end)

-- The peak rate and the bandwidths are made up, because measuring them takes seconds.
describe("the page on measuring", function()
  it("has examples that run", function()
    local page, code, saved, printed = support.read "docs/measuring.md", {}, 0, {}
    for block in page:gmatch "\n\n(    .-)\n\n" do code[#code + 1] = block end
    local made_up = {threads = 1, peak = {best = 1e11}, levels = {{name = "L1", best = 4e11}, {name = "L2", best = 1e11},
      {name = "memory", best = 1e10}}}
    local here = setmetatable({roofs = function() return made_up end}, {__index = nw})
    function here.roofline(s, o)
      o.roofs = made_up
      return nw.roofline(s, o)
    end
    local plots = getmetatable(nw.timings {{min = 1}}:plot()).__index
    local save = plots.save
    function plots.save(p) saved = saved + 1 return p end
    local env = {nw = here, print = function(v) printed[#printed + 1] = tostring(v) end}
    local ok, problem = pcall(assert(load(table.concat(code, "\n"), "=measuring.md", "t", setmetatable(env, {__index = _G}))))
    plots.save = save
    assert.is_true(ok, tostring(problem))
    assert.same({7, 13}, {saved, #printed})
    assert.truthy(printed[1]:find "of the peak of 1 thread")
    assert.truthy(printed[2]:find "aligned$")
    assert.truthy(printed[8]:find "interleaved")
    for picture in page:gmatch "%]%((%w+%.svg)%)" do assert.truthy(support.read("docs/" .. picture):find "</svg>", picture) end
  end)
end)

describe("the pages about the source code", function()
  it("name only existing files", function()
    local text, n = "", 0
    for _, page in ipairs {"architecture", "finding", "recovery"} do text = text .. support.read(("docs/%s.md"):format(page)) end
    for name, ending in text:gmatch "`([%w_/*]+%.([a-z]+))`" do
      if ("c h def py md"):find(ending, 1, true) then
        n = n + 1
        local out = support.run(("ls %s core/%s core/*/%s core/*/*/%s jupyter/%s 2>/dev/null"):format(name, name, name, name, name))
        assert.truthy(#out > 0, name)
      end
    end
    assert.truthy(n > 20, n)
  end)
end)

describe("the page on notebooks", function()
  it("has a control that works with the documented arguments", function()
    local code = assert(support.read "docs/notebook.md":match "\n\n(    nw%.interact.-end}\n)", "no example found")
    local shown = {}
    local env = setmetatable({nw = nw, print = function(text) shown[#shown + 1] = text end, blocked = function(tile)
      local s = support.gemm(16, 16, 16)
      s:tile("i", "j", tile, tile)
      return s
    end}, {__index = _G})
    local real = print
    rawset(_G, "print", env.print)
    local ok, err = pcall(assert(load(code, "=notebook.md", "t", env)))
    rawset(_G, "print", real)
    assert(ok, err)
    assert.truthy(shown[1]:find("tile = 8   (one of 8, 16, 32, 64;", 1, true), shown[1])
    assert.truthy(table.concat(shown, "\n"):find("for i_o in 0..2", 1, true))
  end)
end)

describe("a number you write", function()
  local function dtype(f)
    local A = nw.placeholder({4}, "i32", "A")
    return nw.compute({4}, function(i) return f(A(i)) end, "X").dtype
  end

  it("is whole if it has no decimal point", function()
    assert.equal("i32", dtype(function(x) return nw.select(nw.lt(x, 1), 1, 0) end))
    assert.equal("i64", dtype(function(x) return nw.select(nw.lt(x, 1), 1 << 40, 0) end))
    assert.equal("f32", dtype(function(x) return nw.select(nw.lt(x, 1), 1.0, 0.0) end))
    assert.equal("f32", dtype(function(x) return x + 1.0 end))
  end)
end)

describe("the page on costs", function()
  it("shows what its example prints", function()
    local page, printed = support.read "docs/cost.md", nil
    local code = assert(page:match "\n\n(    local nw = require.-)\n\n", "no example found")
    local env = setmetatable({nw = nw, print = function(v) printed = tostring(v) end}, {__index = _G})
    assert(load(code, "=cost.md", "t", env))()
    assert.truthy(page:find(indented(printed), 1, true), printed)
    code = assert(page:match "\n\n(    print%(nw.nest.read[^\n]-:cost{.-)\n\n", "no example of a nest's cost found")
    assert(load(code, "=cost.md", "t", env))()
    assert.truthy(page:find(indented(printed), 1, true), printed)
  end)
end)

describe("the page on GPUs", function()
  it("shows the counts of its example, and the step that removes the bank conflicts", function()
    local page, printed = support.read "docs/gpu.md", {}
    local code = assert(page:match "\n\n(    A = nw.placeholder.-)\n\nThe counts need", "no example found")
    local env = setmetatable({nw = nw, print = function(v) printed[#printed + 1] = tostring(v) end}, {__index = _G})
    assert(load(code, "=gpu.md", "t", env))()
    assert.truthy(page:find(indented(printed[1]), 1, true), printed[1])
    assert(load(assert(page:match "\n\n(    s:storage_align[^\n]*)\n"), "=gpu.md", "t", env))()
    assert.truthy(tostring(env.s:gpu_counts()):find "load A_shared +shared +32768 +32.00 +%- +1.00")
  end)

  it("draws its pictures", function()
    local page = support.read "docs/gpu.md"
    local code, env = page:match "\n\n(    A = nw.placeholder.-)\n    print", setmetatable({nw = nw}, {__index = _G})
    assert(load(code, "=gpu.md", "t", env))()
    env.tiled = env.s
    env.naive, env.padded = env.s:retarget "a100", env.s:retarget "a100"
    env.naive:checkout(env.naive:version() - 4) -- before cache_read and the steps of its loops
    env.padded:storage_align("A_shared", 0, 32, 1)
    env.product = require "device_kernels".gemm_shared(64):retarget "a100"
    local said = {}
    for line in page:gmatch "\n    (nw%.[^\n]+)\n\n!%[" do
      said[#said + 1] = assert(load("return " .. line, "=gpu.md", "t", env))().caption
    end
    assert.equal(6, #said)
    assert.truthy(said[1]:find "before: .-32 sectors.-after: .-4 sectors = 128")
    assert.truthy(said[2]:find "before: .-in 32 wavefronts.-after: .-in 1 wavefront")
    assert.truthy(said[3]:find "^8 lanes")
    assert.truthy(said[4]:find "3 blocks at the same time.-with at most 64 registers, 4 blocks")
    assert.truthy(said[5]:find "1.19 waves")
    assert.truthy(said[6]:find "from the machine record a100")
  end)
end)

describe("the page on tensor cores", function()
  it("has a schedule with a call", function()
    local page = support.read "docs/tensor_cores.md"
    local code = assert(page:match "## A schedule\n\n(    .-)\n\nThe copies") .. "\n"
      .. assert(page:match "\n\n(    local mma = .-)\n\n`s:fragment`") .. "\n    return s"
    local env = setmetatable({nw = nw, print = function() end}, {__index = _G})
    local s = assert(load(code, "=tensor_cores.md", "t", env))()
    assert.truthy(tostring(s):find("call mma_m16n8k16_f16", 1, true))
    local f = load("return " .. page:match "    (function%(lane, i%).-end)")()
    assert.same({{1, 2}, {9, 3}}, {{f(5, 0)}, {f(5, 3)}})
  end)
end)
