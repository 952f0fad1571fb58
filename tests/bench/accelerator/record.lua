--- Counts the lines of the accelerator that the notebook acc_your_own designs: those of its record, as the notebook writes it.
local json = require "nestwright.show.json"
local nw = require "nestwright"

--- Returns the number of lines.
return function()
  local file = assert(io.open "tutorials/acc_your_own.ipynb")
  local notebook = json.decode(file:read "a")
  file:close()
  local lines
  for _, cell in ipairs(notebook.cells) do
    local source = type(cell.source) == "table" and table.concat(cell.source) or cell.source
    local text = cell.cell_type == "code" and source:match "%[%[\n(return {.-)%]%]"
    if text then
      nw.accelerator(load(text, "=record", "t", {})()) -- an error if it is not a record
      lines = select(2, text:gsub("\n", ""))
    end
  end
  if not lines then error "the notebook has no record as a text" end
  return lines
end
