--- What pictures of accelerators share: the fills of virtual threads, and the colours of the lecture's four kinds of flags.
local figure = require "nestwright.plots.figure"

local flags = {}

local colour = figure.colour

local THREADS = {
  {colour = colour.sky, fill = "solid 0.5"}, {colour = colour.orange, fill = "solid 0.4"},
  {colour = colour.green, fill = "solid 0.3"},
  {colour = colour.pink, fill = "solid 0.4"}, {colour = "#F0E442", fill = "solid 0.6"}, {colour = colour.blue, fill = "pattern 4"},
  {colour = colour.black, fill = "pattern 5"}, {colour = colour.red, fill = "pattern 2"},
}
local NONE = {colour = colour.grey, fill = "solid 0.3"}

--- The number of different looks of virtual threads.
flags.looks = #THREADS

--- Returns the look of a virtual thread, or of an instruction without one. After eight threads, the looks repeat.
function flags.look(thread) return thread and THREADS[thread % #THREADS + 1] or NONE end

--- Returns the name of a virtual thread for keys.
function flags.thread(thread) return thread and ("virtual thread %d"):format(thread) or "no virtual thread" end

--- The kinds of flags, in the order of the lecture's legend. They are dark enough for text.
flags.list = {
  {text = "push to consumer", colour = "#007F5C"}, {text = "push to producer", colour = "#B87F00"},
  {text = "pop from producer", colour = colour.blue}, {text = "pop from consumer", colour = "#A8487F"},
}

--- The colours of flags, by their text.
flags.colour = {}
for _, f in ipairs(flags.list) do flags.colour[f.text] = f.colour end

--- Adds the entries of a key for the flags that were drawn. used: a set of texts.
function flags.add_key(used, out)
  for _, f in ipairs(flags.list) do
    if used[f.text] then out[#out + 1] = {text = f.text, fill = "solid 1", colour = f.colour} end
  end
end

return flags
