--- Assembly for people: each block of instructions says which loops it is in, outermost first. LLVM's own remarks say it
--- with labels and depths, over many lines; here they are read and put into one.

-- What a line says of the block that starts there, or of the one that has begun.
local function label_of(line) return line:match "^%.L(BB%d+_%d+):" or line:match "^# %%bb%.(%d+):" end

local REMARKS = {"Parent Loop BB", "Child Loop BB", "Loop Header: Depth=", "in Loop: Header=BB"}
local function is_remark(line)
  if not line:find "^%s+#" then return false end
  for _, remark in ipairs(REMARKS) do
    if line:find(remark, 1, true) then return true end
  end
  return false
end

-- Which loops there are: by the label of their header, {name, parent}; and the header each block is in.
local function read_loops(lines)
  local loops, within = {}, {}
  local label, block, parent
  for n, line in ipairs(lines) do
    local here = label_of(line)
    if here then label, block, parent = here, n, nil end
    if here or is_remark(line) then
      if here then loops[label] = loops[label] or {name = line:match "# %%\"?([%w_./]+)"} end
      parent = line:match "Parent Loop (BB[%d_]+)" or parent
      if block and line:find("Loop Header: Depth=", 1, true) then
        loops[label].parent = parent
        within[block] = label
      end
      local header = line:match "in Loop: Header=(BB[%d_]+)"
      if block and header then within[block] = header end
    end
  end
  return loops, within
end

local function nest(loops, label)
  local names = {}
  while label and loops[label] do
    table.insert(names, 1, loops[label].name or "?")
    label = loops[label].parent
  end
  return table.concat(names, " > ")
end

--- The text with one remark a block: `.LBB0_3:  # in i_o > j_o > k`.
local function with_loops(text)
  local lines, out = {}, {}
  for line in text:gmatch "([^\n]*)\n?" do lines[#lines + 1] = line end
  local loops, within = read_loops(lines)
  for n, line in ipairs(lines) do
    if label_of(line) then
      local before = line:match "^(.-):%s*#.*$" or line:match "^(.-):%s*$" or line
      out[#out + 1] = within[n] and ("%-40s# in %s"):format(before .. ":", nest(loops, within[n])) or before .. ":"
    elseif not is_remark(line) then
      out[#out + 1] = line
    end
  end
  return table.concat(out, "\n")
end

return {with_loops = with_loops}
