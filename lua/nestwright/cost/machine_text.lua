--- Prints machine records as tables with units and as Lua code that can be read back, and prints the list of their fields.
local blanks = require "nestwright.show.blanks"
local core = require "nestwright.core"
local report = require "nestwright.show.report"
local written = require "nestwright.show.written"

local text = {}

local KINDS = {cpu = 1, gpu = 2, accelerator = 4}
local WIDTHS = {"one", "16 B", "32 B", "64 B"}
local BITS = {"8", "16", "32", "64 bit"}

-- ---- values

local function number(v)
  if math.type(v) == "integer" then return ("%d"):format(v) end
  return v >= 1e6 and ("%.4g"):format(v) or (("%.4f"):format(v):gsub("0+$", ""):gsub("%.$", ""))
end

local function value_text(v, unit)
  if type(v) ~= "number" then return tostring(v) end
  if unit == "bytes" and v >= 1024 then return written.bytes(v) end
  if v ~= 0 and math.abs(v) < 1e-3 then return ("%.3g"):format(v) end
  return number(v)
end

-- Returns a value with its unit. If the value is 0, and the doc of the field explains 0 (as in "0: not known"), returns this
-- explanation.
local function with_unit(f)
  local none = f.value == 0 and (f.doc:match "0: (not %a+)" or f.doc:match "0: (none)")
  if none then return none end
  local value = value_text(f.value, f.unit)
  local unit = f.unit == "bytes" and value:find "B$" and "" or f.unit
  return unit == "" and value or value .. " " .. unit
end

-- ---- tables

-- Pads the cells of each column to the same width; the first `left` columns are left-aligned.
local function aligned(lines, indent, left)
  local width, out = {}, {}
  for _, cells in ipairs(lines) do
    for c, cell in ipairs(cells) do width[c] = math.max(width[c] or 0, utf8.len(cell)) end
  end
  for n, cells in ipairs(lines) do
    local padded = {}
    for c, cell in ipairs(cells) do
      local room = (" "):rep(width[c] - utf8.len(cell))
      padded[c] = c <= left and cell .. room or room .. cell
    end
    out[n] = indent .. blanks.right(table.concat(padded, "  "))
  end
  return table.concat(out, "\n")
end

-- Returns the fields of one section, grouped by element, such as "fma" or "1". The order of the fields is kept.
local function elements(list, section)
  local out, at = {}, {}
  for _, f in ipairs(list) do
    if f.section == section then
      local element, name = f.path:sub(#section + 1):match "^[%.%[]([%w_]+)%]?%.(.+)$"
      if not at[element] then
        at[element] = {name = element}
        out[#out + 1] = at[element]
      end
      table.insert(at[element], {name = name, value = f.value, unit = f.unit, path = f.path})
    end
  end
  return out
end

-- Returns a table with one line per element and one column per field.
local function element_table(list, section, title)
  local found, lines = elements(list, section), {}
  if #found == 0 then return nil end
  local head = {title}
  for _, f in ipairs(found[1]) do head[#head + 1] = f.name .. (f.unit == "" and "" or ", " .. f.unit) end
  lines[1] = head
  for n, element in ipairs(found) do
    lines[n + 1] = {element.name}
    for _, f in ipairs(element) do table.insert(lines[n + 1], value_text(f.value, f.unit)) end
  end
  return lines
end

-- Transposes a table. The result has one line per field and one column per element. It is used for caches, because they have many
-- fields.
local function turned(lines)
  if not lines then return nil end
  local out = {}
  for c = 1, #lines[1] do
    out[c] = {}
    for r = 1, #lines do out[c][r] = lines[r][c] or "" end
  end
  return out
end

local function ops_table(list)
  local found = elements(list, "ops")
  if #found == 0 then return nil end
  local lines = {{"operations", "per cycle: " .. WIDTHS[1], WIDTHS[2], WIDTHS[3], WIDTHS[4], "latency, cycles"}}
  for n, element in ipairs(found) do
    lines[n + 1] = {element.name}
    for _, f in ipairs(element) do table.insert(lines[n + 1], f.value == 0 and "-" or value_text(f.value)) end
  end
  return lines
end

-- Returns a table of the known energies.
local function energy_table(list)
  local at, order = {}, {}
  for _, f in ipairs(list) do
    local name, index = f.path:match "^energy%.([%w_]+)%[(%d)%]$"
    if name then
      if not at[name] then at[name], order[#order + 1] = {name}, name end
      at[name][tonumber(index) + 1] = f.value == 0 and "-" or value_text(f.value)
      at[name].known = at[name].known or f.value ~= 0
    end
  end
  local lines = {{"energy, pJ per number", BITS[1], BITS[2], BITS[3], BITS[4]}}
  for _, name in ipairs(order) do if at[name].known then lines[#lines + 1] = at[name] end end
  return #lines > 1 and lines or nil
end

local function single_lines(list)
  local lines, skip = {}, {name = true, about = true, kind = true}
  for _, f in ipairs(list) do
    local alone = not f.path:find "%[" and f.section ~= "ops"
    if alone and not skip[f.path] then lines[#lines + 1] = {f.path, with_unit(f)} end
  end
  return lines
end

-- Returns a line for each source, with the beginnings of the paths of its fields. If a source has only one field, the line has its
-- whole path.
local function source_lines(list)
  local by, order = {}, {}
  for _, f in ipairs(list) do
    local source = f.source or "default"
    if not by[source] then by[source], order[#order + 1] = {fields = 0}, source end
    local top, of = f.path:match "^[%w_]+%.[%w_]+" or f.path:match "^[%w_]+", by[source]
    if of[#of] ~= top then of[#of + 1] = top end
    of.fields, of.path = of.fields + 1, f.path
  end
  local lines = {}
  for _, source in ipairs(order) do
    local names = by[source].fields == 1 and by[source].path or table.concat(by[source], ", ")
    lines[#lines + 1] = ("  %s: %s"):format(source, #names > 160 and names:sub(1, 157) .. "..." or names)
  end
  return lines
end

local function blocks(list)
  return {single_lines(list), ops_table(list), turned(element_table(list, "caches", "cache")),
    element_table(list, "teams", "teams"), element_table(list, "accelerator.buffers", "buffers"), energy_table(list)}
end

local function heading(m)
  local about = m.about
  return ("%s, a machine record (%s)%s"):format(m.name, m.kind, about == "" and "" or ": " .. about)
end

--- Returns the record as a table with units, and the sources of its numbers.
function text.plain(m)
  local list, out = core.machine_list(m), {heading(m)}
  local parts = blocks(list)
  for n = 1, 6 do if parts[n] then out[#out + 1] = aligned(parts[n], "  ", n == 1 and 2 or 1) end end
  out[#out + 1] = "sources"
  out[#out + 1] = table.concat(source_lines(list), "\n")
  return table.concat(out, "\n")
end

-- ---- as Lua

local function code_of(value)
  if type(value) == "string" then return ("%q"):format(value) end
  if math.type(value) == "float" then return ("%.17g"):format(value) end
  return tostring(value)
end

local function is_name(key) return type(key) == "string" and key:find "^[%a_][%w_]*$" end

local function add_code(out, t, indent)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b)
    local x, y = type(t[a]) == "table", type(t[b]) == "table"
    if x ~= y then return y end
    return type(a) == type(b) and a < b or type(a) == "string" and type(b) == "number"
  end)
  for _, key in ipairs(keys) do
    local name = type(key) == "number" and "" or is_name(key) and key .. " = " or ("[%q] = "):format(key)
    if type(t[key]) ~= "table" then
      out[#out + 1] = indent .. name .. code_of(t[key]) .. ","
    else
      out[#out + 1] = indent .. name .. "{"
      add_code(out, t[key], indent .. "  ")
      out[#out + 1] = indent .. "},"
    end
  end
end

--- Returns Lua code that returns the table of the record.
function text.code(m)
  local merge = require "nestwright.cost.machine_merge"
  local list, sources = core.machine_list(m), {}
  local fields = merge.nested(list)
  for n, f in ipairs(list) do sources[n] = {path = f.path, source = f.source or "default"} end
  fields.sources = merge.brief(sources)
  local out = {"return {"}
  add_code(out, fields, "  ")
  out[#out + 1] = "}\n"
  -- Lists of numbers stay on one line.
  return (table.concat(out, "\n"):gsub("{\n%s*([%-%d%.e,\n ]-),\n%s*}", function(numbers)
    return "{" .. numbers:gsub("%s+", " ") .. "}"
  end))
end

-- ---- the fields

local function pattern_of(row)
  local prefix = row.section == "" and "" or row.section .. (row.list and "[n]." or row.named and ".CLASS." or ".")
  return prefix .. row.name .. (row.count > 1 and "[n]" or "")
end

local function otherwise_of(row)
  if not row.otherwise then return row.named and "like another class" or "required" end
  return row.otherwise == "" and "none" or row.otherwise
end

--- Returns a report that lists the fields of machine records. Its entries are the rows of the fields.
function text.fields(kind)
  local out, list, about = {}, {}, nil
  for _, row in ipairs(core.machine_rows()) do
    if not kind or row.kinds & KINDS[kind] ~= 0 then
      if row.about ~= about then out[#out + 1] = row.about end
      about = row.about
      out[#out + 1] = ("  %-32s %s; %s: %s"):format(pattern_of(row), row.unit == "" and row.kind or row.unit,
        otherwise_of(row), row.doc)
      list[#list + 1] = row
      row.path = pattern_of(row)
    end
  end
  return report.new(list, table.concat(out, "\n"))
end

return text
