--- Tests nw.display and related functions, at the prompt and with a front end that only records the messages that it gets.
local nw = require "nestwright"
local display = require "nestwright.show.display"
local json = require "nestwright.show.json"
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

describe("a notebook", function()
  it("shows the progress of long work on one line, which says at the end how long it took", function()
    local core = require "nestwright.core"
    local seen = with_front(function() pcall(core.run_program, {"sleep", "1.3"}, nil, "sleeping") end)
    assert.equal("display_data", seen[1][1])
    assert.equal("sleeping, 1 s", seen[1][2].data["text/plain"])
    assert.equal("update_display_data", seen[#seen][1])
    assert.equal("sleeping: done after 1 s", seen[#seen][2].data["text/plain"])
    for n = 2, #seen do assert.equal(seen[1][2].transient.display_id, seen[n][2].transient.display_id) end
  end)

  it("receives pictures as images", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local p = nw.timeline {{lane = "a", from = 0, to = 1}}
    local seen = with_front(function() p:show() end)
    local last = seen[#seen]
    assert.equal("display_data", last[1])
    assert.truthy(last[2].data["image/svg+xml"]:find "<svg role")
    assert.equal(p.caption, last[2].data["text/plain"])
  end)
end)

describe("the prompt", function()
  local prompt = require "nestwright.show.prompt"

  it("does not show a picture again that was just saved", function()
    local plot = nw.timeline {{lane = "a", from = 0, to = 1}}
    local path = os.tmpname() .. ".csv"
    assert.equal("written to " .. require "nestwright.core".shown_text(path), prompt.display(false, plot:save(path)))
    assert.truthy(prompt.display(false, plot) ~= nil)
    assert.falsy(prompt.display(false, plot):find("written to", 1, true))
    plot:save(path)
    assert.equal("3", prompt.display(false, 3)) -- another result
    assert.falsy(prompt.display(false, plot):find("written to", 1, true))
    os.remove(path)
  end)

  it("shows equal remarks once, with their number", function()
    local inside = require "nestwright.inside"
    prompt.notes()
    for _ = 1, 12 do inside.note "the same" end
    inside.note "another"
    assert.equal("note: the same (12 times)\nnote: another", prompt.notes())
  end)

  it("shows no remarks of steps that are made quietly", function()
    local function split(s, factor)
      s:split("i", factor)
      return s, factor
    end
    local s = support.gemm(64)
    prompt.notes()
    split(s, 32)
    assert.equal("note: i divides evenly: no tail", prompt.notes())
    s:undo()
    local t, factor = nw.quietly(split, s, 16)
    assert.is_nil(prompt.notes())
    assert.equal(16, factor)
    assert.truthy(t:notes():find "divides evenly")
    support.fails("i was split into i_o, i_i", nil, nw.quietly, split, s, 4)
    s:undo()
    split(s, 8)
    assert.equal("note: i divides evenly: no tail", prompt.notes())
  end)
end)

describe("nw.display", function()
  it("prints at the prompt, and prints updates below", function()
    assert.same({"{1, 2}", "3"}, printed(function() nw.display({1, 2}):update(3) end))
  end)

  it("shows a value in a notebook, and updates it in place", function()
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

  it("shows pictures, and replaces bytes that are not valid text", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local seen = with_front(function()
      nw.display(nw.spacetime((support.gemm(2, 2, 2)), {levels = {{bytes = 256, ways = 2}}}))
      nw.display(nw.html "a\xFFb")
    end)
    assert.truthy(seen[1][2].data["image/svg+xml"]:find "<svg")
    assert.truthy(seen[1][2].data["text/plain"]:find "accesses")
    assert.equal("a\u{FFFD}b", seen[2][2].data["text/html"])
  end)

  it("returns a handle that is not shown as a value, and whose text is that of the value", function()
    local prompt = require "nestwright.show.prompt"
    with_front(function()
      local d, p = nw.display {1, 2}, nw.progress(3, "tiles")
      for _, value in ipairs {d, p, d:update(7), p:step(), io.stdout, io.stderr} do
        assert.is_nil(prompt.display(false, value))
      end
      assert.equal("7", tostring(d))
      assert.truthy(tostring(p):find "^tiles %[")
      assert.equal("7  1", prompt.display(false, d, 1))
      fails("call it with a colon", "invalid", function() d.update(3) end)
      fails("update: self: expected an output, got a number", "invalid", load("local d = ... d.update(3)", "=elsewhere"), d)
    end)
  end)

  it("collects the output of all sources in order, and afterwards restores the usual output", function()
    local items = display.caught(function()
      print("one")
      os.execute "echo two; echo three >&2"
      nw.display "four"
      io.stderr:write "five"
    end)
    assert.same({{text = "one\ntwo\nthree\n"}, {value = "four"}, {text = "five"}}, items)
    local out = support.run(support.program .. [[ -e 'local d = require "nestwright.show.display"
      d.caught(function() print(1) end) print(2) os.execute "echo 3" io.stderr:write "4"']])
    assert.equal("2\n3\n4", out)
  end)

  it("limits the collected output, and says so", function()
    local items = display.caught(function() for _ = 1, 100 do print(("x"):rep(100000)) end end)
    assert.is_true(#items[1].text < 5 << 20)
    assert.truthy(items[1].text:find "is not shown%]$")
    assert.truthy(io.stdout:write "")
  end)

  it("refuses unknown options", function()
    fails("unknown option", "invalid", nw.display, 1, {name = 1})
    fails("display: options.id: expected a string", "invalid", nw.display, 1, {id = 7})
    fails("html: text: expected a string", "invalid", nw.html, 7)
  end)
end)

describe("nw.progress", function()
  it("shows at most ten changes a second, and always the last one", function()
    local seen = with_front(function()
      local p = nw.progress(1000, "tiles")
      for n = 1, 1000 do p:step(1, n == 1000 and "best 3 ms" or nil) end
    end)
    assert.is_true(#seen < 20)
    assert.equal("display_data", seen[1][1])
    assert.truthy(seen[#seen][2].data["text/plain"]:find("tiles [##############################] 1000 of 1000, best 3 ms", 1, true))
    assert.truthy(seen[#seen][2].data["text/html"]:find("value='1000'", 1, true))
  end)

  it("shows the true progress when a cell ends or fails", function()
    local function ended(how)
      local seen = with_front(function()
        local p = nw.progress(5, "tiles")
        p:step(1)
        p:step(2)
        how()
      end)
      return seen[#seen][2].data["text/plain"]
    end
    local prompt = require "nestwright.show.prompt"
    assert.truthy(ended(prompt.notes):find("3 of 5", 1, true))
    assert.truthy(ended(function() prompt.error_text("failed", nil, false) end):find("3 of 5", 1, true))
  end)

  it("never exceeds the number of steps, and never goes back", function()
    with_front(function()
      local p = nw.progress(5)
      p:step(4)
      fails("4 of 5 are done; 2 more are too many", "invalid", p.step, p, 2)
      fails("whole number", "invalid", p.step, p, -1)
      fails("whole number", "invalid", p.step, p, 1.5)
      fails("whole number", "invalid", p.step, p, "a")
      fails("note: expected a string", "invalid", p.step, p, 1, {})
      fails("call it with a colon", "invalid", function() p.step() end)
      assert.truthy(tostring(p):find("4 of 5", 1, true))
    end)
  end)

  it("accepts any number of steps", function()
    local seen = with_front(function() nw.progress(0) end)
    assert.truthy(seen[1][2].data["text/plain"]:find "0 of 0")
    fails("number of steps", "invalid", nw.progress, -1)
    fails("total: expected a whole number", "invalid", nw.progress, "x")
  end)
end)

describe("nw.clear_output and nw.input", function()
  it("are done by the front end", function()
    local seen = with_front(function()
      nw.clear_output(true)
      assert.equal("name? false", nw.input "name? ")
      assert.equal("key true", nw.input("key ", {password = true}))
    end)
    assert.same({"clear_output", {wait = true}}, seen[1])
  end)

  it("have a harmless form at the prompt", function()
    nw.clear_output()
    fails("unknown option", "invalid", nw.input, "x", {hidden = true})
    fails("the options come last: %(prompt, options%)", "invalid", nw.input, {password = true})
  end)
end)

-- ---- Forms of values in a notebook

local mime = require "nestwright.show.mime"
local function html(value)
  local bundle = mime.of(value, tostring)
  assert.truthy(#bundle["text/plain"] > 0)
  return assert(bundle["text/html"], "no HTML")
end

-- Returns the texts of the cells of a table, row by row.
local function cells(text)
  local out = {}
  for row in text:gmatch "<tr>(.-)</tr>" do
    local texts = {}
    for _, cell in row:gmatch "<(t[hd])[^>]*>(.-)</t[hd]>" do texts[#texts + 1] = (cell:gsub("<[^>]*>", "")) end
    out[#out + 1] = texts
  end
  return out
end

local function words(text)
  local plain = text:gsub("<style>.-</style>%s*", ""):gsub("<[^>]*>", "")
  return (plain:gsub("&lt;", "<"):gsub("&gt;", ">"):gsub("&quot;", '"'):gsub("&amp;", "&"))
end

-- Joins long lines that were broken after a space or a star.
local function unbroken(text) return (text:gsub("([ *])\n +", "%1"):gsub("\n$", "")) end

-- Returns the title of the HTML element that begins with this line.
local function title_of(text, line)
  local escaped = line:gsub("[%W]", "%%%0")
  local title = text:match('<span title="([^"]*)"[^>]*>' .. escaped)
  return title and title:gsub("&#10;", "\n"):gsub("&quot;", '"') or nil
end

describe("a schedule in a notebook", function()
  local function tiled()
    local s = support.gemm(64, 64, 64)
    local _, _, _, j_i = s:tile("i", "j", 15, 32)
    s:vectorize(j_i)
    return s
  end

  it("has the same text as at the prompt, with or without styles", function()
    local s = tiled()
    assert.equal(tostring(s:show()), unbroken(words(html(s))))
    assert.equal(tostring(s:show()), unbroken(words(html(s:show()))))
  end)

  it("does not draw the dotted line of an access under the indentation of its next row", function()
    local A = nw.placeholder({4, 4, 4, 4, 4, 4, 4, 4}, "f32", "A")
    local s = nw.schedule(nw.compute({4, 4, 4, 4, 4, 4, 4, 4}, function(a, b, c, d, e, f, g, h)
      return A(a, b, c, d, e, f, g, h)
    end, "a_result_with_a_long_name"))
    for loop in ("abcdefgh"):gmatch "." do s:split(loop, 2) end
    local text, dotted, wrapped = html(s), 0, 0
    for access, after in text:gmatch '<span title="[^"]*" style="border%-bottom[^"]*">(.-)</span>([^\n]*)' do
      dotted = dotted + 1
      assert.falsy(access:find("\n", 1, true), access)
      if after:match "^ ?$" then wrapped = wrapped + 1 end
    end
    assert.is_true(wrapped > 0 and dotted >= 2 + wrapped)
  end)

  it("can hide the body of each loop and guard, without a script", function()
    local text = html(tiled())
    local _, opened = text:gsub("<details open>", "")
    local _, closed = text:gsub("</details>", "")
    assert.equal(6, opened)
    assert.equal(6, closed)
    assert.falsy(text:find "<script")
  end)

  it("marks only the changes of the last step", function()
    local text = html(tiled())
    local marked = {}
    for line in text:gmatch "<ins[^>]*>(.-)</ins>" do marked[#marked + 1] = words(line) end
    assert.same({"+       vectorize for j_i in 0..32:"}, marked)
  end)

  it("says which steps made a loop", function()
    local s = tiled()
    local text = html(s)
    local title = text:match 'title="([^"]*)">[^\n]*vectorize'
    assert.equal('loop j_i, 32 iterations: s:tile("i", "j", 15, 32) (step 1)\nvectorize: s:vectorize "j_i" (step 2)',
      (title:gsub("&#10;", "\n"):gsub("&quot;", '"')))
  end)

  it("says by how many bytes the address of an access changes", function()
    local text = html(tiled())
    assert.equal("A\nstride: 4 bytes for each k; 256 bytes for each i_i; 3.75 KiB for each i_o; none for j_o; "
      .. "j_i are the lanes of a vector", title_of(text, "A[15*i_o + i_i, k]"))
    local of_b = title_of(text, "B[k, 32*j_o + j_i]")
    assert.truthy(of_b:find("256 bytes for each k; 128 bytes for each j_o; none for i_i, i_o", 1, true), of_b)
  end)

  it("shows the misses of an access until the next step", function()
    local s = tiled()
    local m = nw.misses(s, {levels = {{bytes = 1024, ways = 2}}})
    local row
    for _, r in ipairs(m.by_tensor) do if r.tensor == "B" then row = r end end
    local said = title_of(html(s), "B[k, 32*j_o + j_i]")
    assert.truthy(said:find(("(%.3g %%)"):format(100 * (row.asked - row.hits) / row.asked), 1, true), said)
    s:unroll "k"
    assert.falsy(title_of(html(s), "B[k, 32*j_o + j_i]"):find "missed")
  end)

  it("gives no strides if sizes are symbolic", function()
    local s = support.gemm(nw.size "M", 8, 8)
    assert.equal(tostring(s:show()), unbroken(words(html(s))))
  end)

  it("shows the old version in a view that is shown after the next step", function()
    local s = tiled()
    local before = s:show()
    local text = tostring(before)
    s:unroll "k"
    assert.equal(text, unbroken(words(html(before))))
  end)

  it("is shown beside another version, line by line", function()
    local s = tiled()
    local rows = cells(html(s:diff()))
    assert.same({"before the step", 'version 2: s:vectorize &quot;j_i&quot;'}, rows[1])
    local left, right = {}, {}
    for line in (rows[2][1]):gmatch "([^\n]*)\n" do left[#left + 1] = line end
    for line in (rows[2][2]):gmatch "([^\n]*)\n" do right[#right + 1] = line end
    assert.equal(#left, #right)
    assert.equal("-       for j_i in 0..32:", left[4])
    assert.equal("+       vectorize for j_i in 0..32:", right[4])
    assert.equal(left[5], right[5])
    assert.equal("              C[15*i_o + i_i, 32*j_o + j_i] += ", left[7])
    assert.equal("                  A[15*i_o + i_i, k]*B[k, 32*j_o + j_i]  ", left[8])
    assert.equal("                  # from 0 at the first k", left[9])
  end)

  -- A convolution whose statement is longer than half a page.
  local function convolution()
    local A, W = nw.placeholder({8, 66, 66}, "f32", "A"), nw.placeholder({16, 8, 3, 3}, "f32", "W")
    local d, dy, dx = nw.reduce_axis(8, "d"), nw.reduce_axis(3, "dy"), nw.reduce_axis(3, "dx")
    local Y = nw.compute({16, 64, 64}, function(co, y, x)
      return nw.sum(A(d, y + dy, x + dx) * W(co, d, dy, dx), d, dy, dx)
    end, "Y")
    local s = nw.schedule(Y)
    s:split("y", 4)
    s:split("x", 4)
    s:split("co", 8)
    s:cache_read("W", "global")
    return s
  end

  local function lines_of(text)
    local out = {}
    for line in (words(text) .. "\n"):gmatch "(.-)\n" do out[#out + 1] = line end
    return out
  end

  it("is shown beside another version, each in half a page, with nothing left out", function()
    local rows = cells(html(convolution():diff()))
    local left, right = lines_of(rows[2][1]), lines_of(rows[2][2])
    assert.equal(#left, #right)
    for _, side in ipairs {left, right} do
      for _, line in ipairs(side) do assert.is_true(#line <= 58 or not line:find("[ *].", #line:match "^[-+ ]? *" + 1), line) end
    end
    local function squeezed(lines) return (table.concat(lines):gsub("%s", "")) end
    assert.truthy(squeezed(left):find("A[d,4*y_o+dy+y_i,4*x_o+dx+x_i]*W[8*co_o+co_i,d,dy,dx]", 1, true))
    assert.truthy(squeezed(right):find("A[d,4*y_o+dy+y_i,4*x_o+dx+x_i]*W_global[8*co_o+co_i,d,dy,dx]", 1, true))
  end)

  it("breaks and indents long lines itself, because a notebook that is not trusted would not indent them", function()
    local broken, text = 0, lines_of(html(convolution()))
    for n, line in ipairs(text) do
      assert.is_true(#line <= 110, line)
      if line:find "^ +# from 0" or line:find "^ +W_global" then
        broken = broken + 1
        assert.is_true(#line:match "^ *" > #text[n - 1]:match "^[+ ] *" or line:match "^ *" == text[n - 1]:match "^ *")
      end
    end
    assert.is_true(broken >= 1)
    assert.equal((tostring(convolution():show()):gsub("%s", "")), (table.concat(text):gsub("%s", "")))
    local s = convolution()
    local refused = support.error_of(s.parallel, s, s:loops()[#s:loops()])
    for n, line in ipairs(lines_of((html(refused):gsub("<img.*", "")))) do assert.is_true(n == 1 or #line <= 110, line) end
  end)

  it("escapes names, so that they do not become HTML elements", function()
    local A = nw.placeholder({4}, "f32", "A")
    local C = nw.compute({4}, function(i) return nw.select(nw.lt(A(i), 0), 0, A(i)) end, "C")
    assert.truthy(html(nw.schedule(C)):find("&lt;", 1, true))
  end)
end)

describe("a table in a notebook", function()
  it("shows the corners of a tensor with their indices", function()
    local t = nw.zeros {40, 30}
    t:set(39, 29, 7.5)
    local text = html(t)
    assert.truthy(text:find("f32[40, 30]", 1, true))
    local rows = cells(text)
    assert.same({"", "0", "1", "2", "...", "27", "28", "29"}, rows[1])
    assert.equal(8, #rows)
    assert.same({"39", "0", "0", "0", "...", "0", "0", "7.5"}, rows[8])
    assert.truthy(html(nw.zeros {3, 2, 2}):find "and 2 more like this")
    assert.truthy(html(nw.zeros {0, 4}):find "empty")
    assert.same({{"", "0"}, {"0", "0"}}, cells(html(nw.zeros {})))
  end)

  it("shows times and the comparison of several", function()
    local t = nw.timings {naive = {median = 2e-3, min = 1e-3, samples = {1e-3, 2e-3, 3e-3}, machine = "m"}, ["a<b"] = {median = 1}}
    local rows = cells(html(t))
    assert.same({"", "min", "median", "spread", "medians compared"}, rows[1])
    assert.equal("a&lt;b", rows[2][1])
    assert.equal("naive", rows[3][1])
    assert.truthy(html(t[1]):find "<table>")
  end)

  it("shows misses, and the work of threads", function()
    local s = support.gemm(16, 16, 16)
    local m = nw.misses(s, {levels = {{bytes = 512, ways = 2}}})
    local rows = cells(html(m))
    assert.equal(1 + #m.by_tensor, #rows)
    assert.same({"L1 " .. m.by_tensor[1].tensor, ("%d"):format(m.by_tensor[1].asked), ("%d"):format(m.by_tensor[1].hits)},
      {table.unpack(rows[2], 1, 3)})
    s:parallel "i"
    rows = cells(html(s:build({threads = 1}):busy {reps = 1}))
    assert.equal("thread 0", rows[2][1])
    assert.equal("16", rows[2][5])
  end)

  it("shows a sweep and a log", function()
    local r = nw.sweep {params = {x = {1, 2}}, run = function(p) return {y = p.x / 2} end}
    assert.same({{"x", "y"}, {"1", "0.5"}, {"2", "1"}}, cells(html(r)))
    local s = support.gemm(64, 64, 64)
    s:split("i", 15)
    local rows = cells(html(s:log()))
    assert.equal(3, #rows)
    assert.truthy(rows[3][2]:find("s:split(&quot;i&quot;, 15)", 1, true), rows[3][2])
    assert.truthy(rows[3][2]:find("guarded", 1, true))
  end)
end)

describe("a picture in a notebook", function()
  local function bundle()
    return mime.of(nw.spacetime((support.gemm(2, 2, 2)), {levels = {{bytes = 256, ways = 2}}}), tostring)
  end

  it("is SVG and PNG, with its size", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local data, metadata = bundle()
    assert.truthy(data["image/svg+xml"]:find "^<svg") -- nbconvert cannot read an XML declaration
    assert.truthy(data["image/svg+xml"]:find 'viewBox="0 0 ')
    local kind = #data["image/svg+xml"] > 60000 and "png" or "svg+xml"
    assert.truthy(data["text/html"]:find('src="data:image/' .. kind .. ';base64,', 1, true))
    assert.equal("iVBORw0KGgo", data["image/png"]:sub(1, 11))
    local width = tonumber(data["image/svg+xml"]:match 'width="(%d+)"')
    assert.equal(width, metadata["image/png"].width)
  end)

  it("has ids that are unique on the page", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local seen, n = {}, 0
    for _ = 1, 2 do
      local text, own = bundle()["image/svg+xml"], {}
      for id in text:gmatch "%sid=['\"]([^'\"]+)['\"]" do
        assert.falsy(seen[id], id)
        own[id], seen[id], n = true, true, n + 1
      end
      for id in text:gmatch "href=['\"]#([^'\"]+)['\"]" do assert.truthy(own[id], id) end
      for id in text:gmatch "url%(#([^)]+)%)" do assert.truthy(own[id], id) end
    end
    assert.truthy(n > 10)
  end)

  it("is shown with a refusal", function()
    if not support.have_gnuplot() then return pending "gnuplot is not installed" end
    local s = support.gemm(8, 8, 8)
    local refused = support.error_of(s.parallel, s, "k")
    local text = html(refused)
    assert.truthy(text:find("cannot run k in parallel", 1, true))
    assert.truthy(text:find('src="data:image/', 1, true))
    assert.falsy(html(support.error_of(s.split, s, "i", -1)):find "<img")
  end)
end)
