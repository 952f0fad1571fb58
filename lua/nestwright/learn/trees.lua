--- Checks the trees of a learned model, which are stored as XGBoost's JSON. XGBoost does not check indices, and accesses other
--- memory if an index is outside of a tree. So all indices are checked here before XGBoost reads a text from a file.
local json = require "nestwright.show.json"

local trees = {}

local MOST_BYTES = 256 << 20
local NOWHERE, NOBODY = -1, 2147483647 -- NOWHERE: no child. NOBODY: no parent, or the split index of a removed node

-- ---- checks of single values

local function wrong(...) error({why = (...):format(select(2, ...))}, 0) end
local function check(holds, ...) if not holds then wrong(...) end end

-- Checks that a value is an object with exactly the given fields. `fields` has, for each field, a function that checks the field's
-- value.
local function object(name, value, fields)
  check(type(value) == "table", "%s is missing", name)
  for key in pairs(value) do check(fields[key], "%s has '%s', which this library does not know", name, tostring(key)) end
  for key, of in pairs(fields) do of(("%s.%s"):format(name, key), value[key]) end
end

local function any(name, value)
  check(type(value) == "string" and #value <= 40 and value:find "^[%w_.:+%[%]-]*$", "%s is not a number or a name", name)
end

local function optional(of) return function(name, value) if value ~= nil then of(name, value) end end end
local function words(name, value)
  check(type(value) == "table", "%s is missing", name)
  for key, of in pairs(value) do any(("%s.%s"):format(name, tostring(key)), of) end
end

local function nothing(name, value) check(type(value) == "table" and next(value) == nil, "%s is not empty", name) end

local function counted(least, most)
  return function(name, value)
    local n = type(value) == "string" and value:find "^%d+$" and math.tointeger(tonumber(value))
    check(n and n >= least and n <= most, "%s is not in %d..%d", name, least, most)
  end
end
local function exactly(n) return counted(n, n) end

-- Returns a check for a list of n numbers of this math.type. The type matters, because XGBoost does not accept an integer in place
-- of a float.
local function list(n, kind)
  return function(name, value)
    check(type(value) == "table" and #value == n, "%s does not have %d entries", name, n)
    for _, v in ipairs(value) do check(math.type(v) == kind, "%s has an entry that is not of type %s", name, kind) end
  end
end

local function among(n, least, most)
  return function(name, value)
    list(n, "integer")(name, value)
    for _, v in ipairs(value) do check(v >= least and v <= most, "%s has %d, which is not in %d..%d", name, v, least, most) end
  end
end

-- ---- a tree

-- Visits the nodes from the root on. Checks that no node is reached twice, and that a node that splits has two children and a
-- feature. Returns the number of nodes.
local function walk(name, t, n, features)
  local met, waiting, count = {}, {0}, 0
  while #waiting > 0 do
    local at = table.remove(waiting)
    check(at >= 0 and at < n and not met[at], "%s: node %d is reached twice, or does not exist", name, at)
    met[at], count = true, count + 1
    local left, right = t.left_children[at + 1], t.right_children[at + 1]
    check((left == NOWHERE) == (right == NOWHERE), "%s: node %d has one child", name, at)
    if left ~= NOWHERE then
      local feature = t.split_indices[at + 1]
      check(feature < features, "%s: node %d is split by feature %d, but there are %d", name, at, feature, features)
      check(t.parents[left + 1] == at and t.parents[right + 1] == at, "%s: a child of node %d has another parent", name, at)
      waiting[#waiting + 1], waiting[#waiting + 2] = left, right
    end
  end
  return count
end

-- Checks one tree. (`walk` checks that a child's index is inside the tree before it uses the index.)
local function tree(name, t, id, features)
  check(type(t) == "table" and type(t.tree_param) == "table", "%s is missing", name)
  counted(1, 1 << 24)(name .. ".num_nodes", t.tree_param.num_nodes)
  local n = tonumber(t.tree_param.num_nodes)
  local floats, children = list(n, "float"), among(n, NOWHERE, n - 1)
  object(name, t, {
    base_weights = floats, loss_changes = floats, split_conditions = floats, sum_hessian = floats,
    left_children = children, right_children = children, parents = among(n, 0, NOBODY), split_indices = among(n, 0, NOBODY),
    default_left = among(n, 0, 1), split_type = among(n, 0, 0),
    categories = nothing, categories_nodes = nothing, categories_segments = nothing, categories_sizes = nothing,
    id = function(what, v) check(v == id, "%s is not %d", what, id) end,
    tree_param = function(what, v)
      object(what, v, {num_deleted = counted(0, n - 1), num_nodes = exactly(n), num_feature = exactly(features),
        size_leaf_vector = counted(0, 1)})
    end,
  })
  local deleted = tonumber(t.tree_param.num_deleted)
  check(walk(name, t, n, features) == n - deleted, "%s: not all of its nodes can be reached", name)
end

local function model(features)
  return function(name, m)
    check(type(m) == "table" and type(m.trees) == "table" and #m.trees > 0, "%s has no trees", name)
    local n = #m.trees
    object(name, m, {
      gbtree_model_param = function(what, v)
        object(what, v, {num_trees = exactly(n), num_parallel_tree = counted(1, n), size_leaf_vector = exactly(0)})
      end,
      tree_info = among(n, 0, 0),
      trees = function(what, all) for i, t in ipairs(all) do tree(("%s[%d]"):format(what, i - 1), t, i - 1, features) end end,
    })
  end
end

-- ---- the model

local function named(expected) return function(name, value) check(value == expected, "%s is not '%s'", name, expected) end end

local function learner(features, objective)
  return function(name, value)
    object(name, value, {
      attributes = nothing, feature_names = nothing, feature_types = nothing,
      gradient_booster = function(what, v) object(what, v, {model = model(features), name = named "gbtree"}) end,
      learner_model_param = function(what, v)
        object(what, v, {base_score = any, boost_from_average = optional(any), num_class = exactly(0),
          num_feature = exactly(features), num_target = optional(exactly(1))})
      end,
      objective = function(what, v)
        object(what, v, {name = named(objective), reg_loss_param = optional(words), lambda_rank_param = optional(words)})
      end,
    })
  end
end

--- Checks that the text is a model with this number of features for this objective of XGBoost. Returns nil, or a description of the
--- first problem.
function trees.problem(text, features, objective)
  if #text > MOST_BYTES then return ("it has more than %d MB"):format(MOST_BYTES >> 20) end
  if text:sub(1, 2) ~= '{"' then return "it is not JSON" end -- XGBoost also accepts other formats, which are not checked here
  local read, value = pcall(json.decode, text)
  if not read then return value end
  local ok, problem = pcall(object, "model", value, {learner = learner(features, objective), version = list(3, "integer")})
  if ok then return nil end
  return type(problem) == "table" and problem.why or error(problem, 0)
end

return trees
