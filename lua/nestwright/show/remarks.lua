--- Writes the remarks of steps and builds while a script runs. A script has no end of a line or of a cell at which remarks could be
--- shown, and a remark may announce that the next call takes long. So each remark is written when it arises, but only once.
local remarks = {}

local said = {} -- the remarks that have been written

--- Returns the text of remarks, one a line, with a mark before each line, and without blank lines.
function remarks.marked(text) return (text:gsub("\n+$", ""):gsub("\n\n+", "\n"):gsub("[^\n]+", "note: %0")) end

--- True while a script or the code of option -e runs (repl/script.c).
function remarks.at_once() return package.loaded["nestwright.script"] == true end

--- True while the prompt runs (repl/prompt.c).
function remarks.at_prompt() return package.loaded["nestwright.script"] == false end

--- Writes a remark to standard error if it was not written before.
function remarks.write(text)
  if said[text] then return end
  said[text] = true
  io.stdout:flush()
  io.stderr:write(remarks.marked(text), "\n")
end

return remarks
