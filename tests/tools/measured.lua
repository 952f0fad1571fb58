--- Draws the pictures of docs/measuring.md by running the examples of that page. The times in the pictures are measured anew.
--- usage: nestwright tests/tools/measured.lua docs
local nw = require "nestwright"
local folder = arg[1] or "docs"
local page = assert(io.open(folder .. "/measuring.md")):read "a"

local code = {}
for block in page:gmatch "\n\n(    .-)\n\n" do code[#code + 1] = block end
local text = table.concat(code, "\n"):gsub('save "', 'save "' .. folder .. "/")
assert(load(text, "=measuring.md", "t", setmetatable({nw = nw}, {__index = _G})))()
for _, name in ipairs {"speedup", "curves"} do os.remove(("%s/%s.svg"):format(folder, name)) end
