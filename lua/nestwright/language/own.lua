--- Makes the environment in which the modules of this library run. The environment has copies of Lua's standard libraries as they
--- were at the start. So a script or cell that changes globals, or functions such as string.format, does not affect the modules. A
--- module that must change the standard libraries of cells gets them from _G or package.loaded. A program that loads modules of the
--- library by name loads "nestwright" first, since the environment is made there.
local registry = debug.getregistry()
local made = registry["nestwright.own"]
if made then return made end

local LIBRARIES = {"coroutine", "debug", "io", "math", "os", "string", "table", "utf8"}
local FUNCTIONS = {"assert", "collectgarbage", "dofile", "error", "getmetatable", "ipairs", "load", "loadfile", "next", "pairs",
  "pcall", "print", "rawequal", "rawget", "rawlen", "rawset", "select", "setmetatable", "tonumber", "tostring", "type", "warn",
  "xpcall", "_VERSION"}

local environment = {_G = _G, package = {loaded = package.loaded, preload = package.preload, config = package.config}}
for _, name in ipairs(FUNCTIONS) do environment[name] = _G[name] end
for _, name in ipairs(LIBRARIES) do
  local copy = {}
  for key, value in pairs(_G[name]) do copy[key] = value end
  environment[name] = copy
end

-- All strings share one metatable. A method is looked up first in the library's copy of `string`. If the copy does not have the
-- method, it is looked up in the `string` of cells, to which cells may have added methods. If the library is used in another Lua
-- program, the metatable is not changed.
setmetatable(environment.string, {__index = string})
local strings = getmetatable ""
if registry["nestwright.host"] and strings.__index == string then strings.__index = environment.string end

-- ---- modules

local directory = debug.getinfo(1, "S").source:match "^@(.*[/\\])language[/\\]" or "nestwright/"
local loaded, require_any = package.loaded, require
local gsub, match, loadfile, open = string.gsub, string.match, loadfile, io.open
local error, getmetatable, setmetatable = error, getmetatable, setmetatable

-- Returns the chunk of a module of this library and its file, or nil for other modules. In an installation, the modules of plots
-- are in the library's folder; in the source tree, they are in the top-level folder plots.
local function find(name)
  local inside = match(name, "^nestwright%.(.+)$")
  if not inside then return nil end
  inside = gsub(inside, "%.", "/") .. ".lua"
  local path = directory .. inside
  local file = open(path)
  if not file and match(inside, "^plots/") then
    path = directory .. "../../" .. inside
    file = open(path)
  end
  if not file then return nil end
  file:close()
  local chunk, why = loadfile(path, nil, environment)
  if not chunk then error(why, 0) end
  return chunk, path
end

--- Works like Lua's require, even if a cell has changed package.path and package.searchers.
function environment.require(name)
  if loaded[name] then return loaded[name] end
  local chunk, path = find(name)
  if not chunk then return require_any(name) end
  local value = chunk(name, path)
  if value ~= nil then loaded[name] = value end
  if loaded[name] == nil then loaded[name] = true end
  return loaded[name]
end

--- Returns a table that stands for a module, which is loaded when a field is read for the first time. Modules that the first
--- prompt does not need are loaded in this way, so that a session starts faster. The module must return a table, and must not have
--- rows.
function environment.later(name)
  return setmetatable({}, {__index = function(self, key)
    local module = environment.require(name)
    getmetatable(self).__index = module
    return module[key]
  end})
end

table.insert(package.searchers, 2, function(name)
  local chunk, path = find(name)
  if chunk then return chunk, path end
end)

registry["nestwright.own"] = environment
return environment
