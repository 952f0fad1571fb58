--- Makes assembly readable. Each block of instructions gets one comment that names the loops around the block, outermost first.
--- LLVM's comments give these loops as labels and depths, over many lines.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"

-- True if the text is assembly of Arm, where comments begin with //. On x86, they begin with #.
local function is_arm(text) return text:find "\n%s*// " ~= nil end

-- Returns the label of the block that starts at this line, or nil.
local function label_of(line) return line:match "^%.L(BB%d+_%d+):" or line:match "^# %%bb%.(%d+):" end

local REMARKS = {"Parent Loop BB", "Child Loop BB", "Loop Header: Depth=", "in Loop: Header=BB"}
local function is_remark(line)
  if not line:find "^%s+#" then return false end
  for _, remark in ipairs(REMARKS) do
    if line:find(remark, 1, true) then return true end
  end
  return false
end

-- Returns two tables. The first maps the label of a loop's header to the loop, {name, parent}. The second maps the number of a
-- block's first line to the label of the header of the loop around the block.
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

--- Returns the text with one comment per block: `.LBB0_3:  # in i_o > j_o > k`. Comments begin with # for all instruction sets.
local function with_loops(text)
  local lines, out = {}, {}
  if is_arm(text) then text = text:gsub("// ", "# ") end
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

-- Returns the result of with_loops with the usual comment mark of the instruction set.
local function shown(text)
  local remarked = with_loops(text)
  return is_arm(text) and (remarked:gsub("# ", "// ")) or remarked
end

-- ---- one loop

-- Returns the name of the program's loop from which LLVM made the loop `label`. LLVM adds numbers and suffixes such as ".us" to the
-- names of copies. names: the names of the program's loops, as keys.
local function source_of(label, names)
  local base = label:match "^[^.]+" or label
  local stem = base:gsub("%d+$", "")
  return not names[base] and names[stem] and stem or base
end

-- Returns an instruction with aligned operands. LLVM's comments about spills are kept. Its other comments are removed.
local function tidy(line)
  local code, remark = line:match "^(.-)%s+#%s+(.*)$"
  local name, operands = (code or line):match "^%s*(%S+)%s*(.-)%s*$"
  local about = remark and (remark:find "Spill" or remark:find "Reload") and "  # " .. remark or ""
  return ("  %-13s %s"):format(name, operands):gsub("%s+$", "") .. about
end

local function is_instruction(line) return line:find "^%s+%l" ~= nil end

--- Returns two lists. The first has the lines of the blocks of a loop, including the loops in it, without directives. The second
--- has the names of all loops of the code; outer loops come before the loops in them. text: the assembly of a kernel; wanted: the
--- loop's name; names: as in source_of.
local function of_loop(text, wanted, names)
  local lines, found, inside = {}, {}, false
  for line in with_loops(text):gmatch "[^\n]+" do
    if label_of(line) then
      inside = false
      for label in (line:match "# in (.+)$" or ""):gmatch "[^ >]+" do
        local name = source_of(label, names)
        if not found[name] then found[#found + 1], found[name] = name, true end
        inside = inside or name == wanted
      end
      if inside then lines[#lines + 1] = (line:gsub(":%s+#", ":  #")) end
    elseif line:find "^%.Lfunc_end" then
      inside = false
    elseif inside and is_instruction(line) then
      lines[#lines + 1] = tidy(line)
    end
  end
  return lines, found
end

-- Returns the assembly of a kernel, for code that can only parse x86_64 instructions. Raises an error if the kernel is for another
-- machine with other instructions.
local function of_x86_64(what, kernel)
  local target = core.kernel_target(kernel)
  if target.machine.isa ~= "x86_64" then
    errors.fail("limit", nil, "%s: only assembly of x86_64 can be read, not that of %s", what, target.name)
  end
  return core.kernel_text(kernel, "asm")
end

return {with_loops = with_loops, shown = shown, of_loop = of_loop, of_x86_64 = of_x86_64}
