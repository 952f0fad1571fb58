--- Formats errors. The text of an error consists of the place, the message, the loops involved, and a suggestion.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local guard = require "nestwright.language.guard"
local rows = require "nestwright.language.rows"

local function fields(class, list)
  for _, field in ipairs(list) do rows.field(class, "refusals", table.unpack(field)) end
end

fields("error", {
  {"code", "string", "The kind of error: invalid, type, range, memory, parse, limit, refused, undecided and others."},
  {"message", "string", "One sentence."},
  {"hint", "string?", "What to do about the error."},
  {"source", "string?", "Where the error was raised: the name of a file, or repl[7]."},
  {"line", "integer?", "The line of the source in which the error was raised."},
  {"refusal", "nw.refusal?", "Why a step was refused."},
  {"schedule", "string?", "The name of a variable that holds the schedule; the text of the error uses it."},
})

fields("refusal", {
  {"kind", "string", "The kind of conflict: raw, war, waw, reduction, value, bounds, cover, capacity, structure, undecided."},
  {"primitive", "string", "The primitive, such as parallel."},
  {"step", "string", "The step as it was written, such as s:parallel \"k\"."},
  {"message", "string", "A sentence that says what cannot be done."},
  {"why", "string?", "One sentence about the two iterations that are in conflict."},
  {"tensor", "string?", "The tensor that both iterations access, such as C."},
  {"element", "string?", "The element that both iterations access, such as C[0, 0]."},
  {"source_block", "string?", "The block that must run first."},
  {"source", "string?", "The values of the loops of source_block, such as (i=0, k=0)."},
  {"sink_block", "string?", "The block that must run later."},
  {"sink", "string?", "The values of the loops of sink_block."},
  {"distance", "string?",
    "The number of iterations between the two executions, along the loop that carries the conflict, or as a vector."},
  {"loops", "string[]", "The loops that carry the conflict."},
  {"alternatives", "string[]", "Other steps that were tried and are legal."},
  {"picture", "string?", "The loop nest, with the loops that carry the conflict marked."},
  {"witness", "table?", "The conflict in numbers: sizes, index of the element, source and sink by loop, the marked loop."},
})

-- The texts of chunks that are not files, by name. The host program sets them.
local texts = package.loaded["nestwright.sources"] or {}
package.loaded["nestwright.sources"] = texts

local function line_of_text(text, number)
  local n = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    n = n + 1
    if n == number then return line end
  end
end

local function source_line(e)
  if not e.line then return nil end
  if texts[e.source] then return line_of_text(texts[e.source], e.line) end
  local readable, text = pcall(core.read_file, "error", e.source)
  return readable and line_of_text(text, e.line) or nil
end

local function indent(out, text, by)
  for line in (text:gsub("\n$", "") .. "\n"):gmatch "(.-)\n" do out[#out + 1] = by .. line end
end

-- Replaces the `s` at the start of a step by the name of the user's schedule. A schedule without a name, as in a tail call, is
-- called s.
local function of_schedule(step, name)
  if not name then return step end
  return (step:gsub("^s:", name:gsub("%%", "%%%%") .. ":"))
end

local function add_refusal(out, r, name)
  if r.step then indent(out, of_schedule(r.step, name), "    ") end
  if r.why then indent(out, r.why, "  ") end
  if r.picture then indent(out, r.picture, "  ") end
  if r.alternatives and r.alternatives[1] then
    local steps = {}
    for n, step in ipairs(r.alternatives) do steps[n] = of_schedule(step, name) end
    out[#out + 1] = "  you can: " .. table.concat(steps, " · ")
  end
end

local function picture(e)
  local message = tostring(e.message)
  local out = {e.line and ("%s:%d: %s"):format(e.source, e.line, message) or message}
  local line = not (e.refusal and e.refusal.step) and source_line(e)
  if line and line:find "%S" then out[#out + 1] = "    " .. blanks.trim(line) end
  if e.refusal then add_refusal(out, e.refusal, e.schedule) end
  if e.hint then
    local first = #out + 1
    indent(out, e.hint, "        ")
    out[first] = "  hint: " .. out[first]:sub(9)
  end
  return table.concat(out, "\n")
end

core.error.__tostring = picture
core.error.__concat = function(a, b) return tostring(a) .. tostring(b) end

local errors = {}

--- Raises an error that names the line of the user's code.
---@param code string
---@param hint? string
---@param message string   the message, or a format for the arguments after it
function errors.fail(code, hint, message, ...)
  if select("#", ...) > 0 then message = message:format(...) end
  core.fail(code, message, hint)
end

--- True for the errors of this library.
function errors.is_error(e) return getmetatable(e) == core.error end

--- Turns Lua's own "not enough memory" into an error of this library; returns other errors unchanged.
function errors.of_lua(problem)
  if problem ~= "not enough memory" then return problem end
  local refused = debug.getregistry()["nestwright.host.memory"]
  local message = refused and refused() or "Lua has no more memory"
  return setmetatable({code = "memory", message = message,
    hint = "request less memory, or set values that are no longer needed to nil; all other values are intact"}, core.error)
end

--- Checks the keys of a table of options and returns it; `options` may be nil.
---@param what string      the function's name, for the message
---@param options table?
---@param allowed string[]
---@param listed string[]?   the options that the hint lists; by default all allowed options
function errors.options(what, options, allowed, listed)
  if options == nil then return {} end
  if type(options) ~= "table" then
    errors.fail("invalid", nil, "%s: expected a table of options, got %s", what, core.type_name(options))
  end
  local known = {}
  for _, key in ipairs(allowed) do known[key] = true end
  for key in pairs(options) do
    if not known[key] then guard.refuse_key(what, "option", key, allowed, guard.listed(listed or allowed)) end
  end
  return options
end

--- Returns the value if it has this Lua type; otherwise raises an error.
function errors.expect(what, value, wanted)
  if type(value) == wanted then return value end
  errors.fail("invalid", nil, "%s: expected %s, got %s", what, guard.with_article(wanted), core.type_name(value))
end

--- Returns the value if it is a text of one line that can be shown everywhere, which is valid UTF-8 without control characters.
--- Otherwise raises an error.
function errors.label(what, value) return core.check_text(what, value) end

return errors
