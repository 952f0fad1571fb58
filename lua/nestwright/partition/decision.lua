--- Builds a small decision tree over sizes, which selects the best of several alternatives. A shape is a value for each size, with
--- a weight. An inner node of the tree compares a size with a value, so each leaf stands for a box of sizes. A leaf selects one
--- alternative for the shapes in its box. The cost of a leaf is price + sum(weight*figure) over these shapes. The alternative has a
--- price, and a figure (its cost) for each shape. The cost of a tree is the sum over its leaves, so a split must save more than the
--- price of a leaf. The cheapest tree is found by dynamic programming.
local decision = {}

-- The largest number of values at which a size may be split, for trees over one, two or three sizes. For more sizes, it is 3.
local MOST_VALUES = {64, 16, 6}

-- ---- split values

-- Returns the values of a size that occur in the shapes, in order; if there are many, returns an evenly spaced selection.
local function values_of(name, shapes, most)
  local seen, all, out = {}, {}, {}
  for _, shape in ipairs(shapes) do
    local v = shape.values[name]
    if not seen[v] then all[#all + 1], seen[v] = v, true end
  end
  table.sort(all)
  if #all <= most then return all end
  for n = 1, most do out[n] = all[1 + (n - 1) * #all // most] end
  return out
end

-- Returns the shapes in which the size is below a value, and the other shapes.
local function parted(x, members, name, value)
  local below, others = {}, {}
  for _, n in ipairs(members) do
    local list = x.shapes[n].values[name] < value and below or others
    list[#list + 1] = n
  end
  return below, others
end

-- ---- the cheapest tree

local function leaf_of(x, members)
  local best
  for r, way in ipairs(x.ways) do
    local sum = way.price
    for _, n in ipairs(members) do sum = sum + x.shapes[n].weight * way.figures[n] end
    if not best or sum < best.cost then best = {cost = sum, way = r} end
  end
  return best
end

local function best_of(x, members)
  local key = table.concat(members, ",")
  if x.known[key] then return x.known[key] end
  local best = leaf_of(x, members)
  for _, name in ipairs(x.names) do
    for n = 2, #x.values[name] do
      local value = x.values[name][n]
      local below, others = parted(x, members, name, value)
      if #below > 0 and #others > 0 then
        local yes, no = best_of(x, below), best_of(x, others)
        if yes.cost + no.cost < best.cost then
          best = {cost = yes.cost + no.cost, size = name, below = value, yes = yes, no = no}
        end
      end
    end
  end
  x.known[key] = best
  return best
end

--- Returns the tree over the named sizes, for shapes in the form of distribution.of. `ways` has the alternatives. Each has
--- `figures` (one number per shape; lower is better) and `price` (added for each leaf that selects it). A node is {size, below,
--- yes, no}, and a leaf is {way}; both have a cost.
function decision.tree(names, shapes, ways)
  local x = {names = names, shapes = shapes, ways = ways, values = {}, known = {}}
  for _, name in ipairs(names) do x.values[name] = values_of(name, shapes, MOST_VALUES[#names] or 3) end
  local all = {}
  for n in ipairs(shapes) do all[n] = n end
  return best_of(x, all)
end

-- ---- leaves

local function side(node, at, fact, below)
  local facts, bounds = table.move(at.facts, 1, #at.facts, 1, {}), {}
  for name, value in pairs(at.below) do bounds[name] = value end
  facts[#facts + 1] = fact
  bounds[node.size] = below or bounds[node.size]
  return {facts = facts, below = bounds}
end

local function add_leaves(node, at, out)
  if node.way then
    out[#out + 1] = {way = node.way, facts = at.facts, below = at.below}
    return out
  end
  add_leaves(node.yes, side(node, at, ("%s < %d"):format(node.size, node.below), node.below), out)
  return add_leaves(node.no, side(node, at, ("%s >= %d"):format(node.size, node.below)), out)
end

--- Returns the leaves in order: {way, facts, below}. `facts` are the conditions of the leaf's box. `below` has the upper bounds of
--- the box by size.
function decision.leaves(node) return add_leaves(node, {facts = {}, below = {}}, {}) end

--- Returns the alternative that the tree selects for given sizes.
function decision.way(node, values)
  while not node.way do node = values[node.size] < node.below and node.yes or node.no end
  return node.way
end

-- ---- as text

local function add_lines(node, name_of, indent, out)
  local pad = (" "):rep(indent)
  if node.way then
    out[#out + 1] = pad .. name_of(node.way)
    return out
  end
  out[#out + 1] = ("%s%s < %d:"):format(pad, node.size, node.below)
  add_lines(node.yes, name_of, indent + 2, out)
  out[#out + 1] = pad .. "otherwise:"
  return add_lines(node.no, name_of, indent + 2, out)
end

function decision.text(node, name_of) return table.concat(add_lines(node, name_of, 0, {}), "\n") end

return decision
