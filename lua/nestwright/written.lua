--- How values read: in tables, captions and files.
local written = {}

local UNITS = {{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}}

--- A number of bytes in the largest unit of which there is at least one, to three digits.
function written.bytes(n)
  for _, unit in ipairs(UNITS) do
    local of = n / unit[1]
    if of >= 1 then return (of < 100 and "%.3g %s" or "%.0f %s"):format(of, unit[2]) end
  end
  return ("%d bytes"):format(n)
end

--- A field of a CSV file; nil is an empty one.
function written.csv(value)
  local field = value == nil and "" or tostring(value)
  return field:find '[,"\n\r]' and '"' .. field:gsub('"', '""') .. '"' or field
end

return written
