--- Draws wrong values for any function, and valid values for each type of a signature. Every wrong value has a description for
--- messages.
local values = {}

--- The text of the error that the callbacks and metatables of this file raise. It is not an error of the library.
values.RAISED = "raised by the argument itself"

local function raise() error(values.RAISED, 0) end

local function cyclic()
  local t = {}
  t[1], t.self = t, t
  return t
end

local function raising()
  return setmetatable({1, 2}, {__index = raise, __len = raise, __tostring = raise, __pairs = raise, __call = raise, __eq = raise})
end

local function deep()
  local t = {}
  for _ = 1, 300 do t = {t} end
  return t
end

local function many()
  local t = {}
  for n = 1, 50000 do t[n] = n end
  return t
end

local PLAIN = {
  {"nil", nil}, {"true", true}, {"false", false}, {"0", 0}, {"-1", -1}, {"1", 1}, {"1.5", 1.5}, {"-0.0", -0.0}, {"2^31", 1 << 31},
  {"-2^31", -(1 << 31)}, {"2^40", 1 << 40}, {"2^62", 1 << 62}, {"maxinteger", math.maxinteger}, {"mininteger", math.mininteger},
  {"1e300", 1e300}, {"-1e300", -1e300}, {"5e-324", 5e-324}, {"nan", 0 / 0}, {"inf", 1 / 0}, {"-inf", -1 / 0},
  {"2^53+1.0", 2.0 ^ 53},
  {"''", ""}, {"'no such thing'", "no such thing"}, {"NUL in a string", "a\0b"}, {"an escape", "\27[31mred"},
  {"a line end", "a\nb"}, {"a C1 control", "a\u{9b}31m"}, {"a bidi control", "a\u{202e}b"}, {"invalid UTF-8", "\xff\xfe\x80"},
  {"1 MB", ("x"):rep(1 << 20)},
  {"1 MB of brackets", ("("):rep(1 << 20)}, {"formats", "%s%d%n%99999d"}, {"an option", "--help"}, {"a path", "/nowhere/at/all"},
  {"'1'", "1"}, {"'1e400'", "1e400"}, {"print", print}, {"io.stdout", io.stdout},
}

local MADE = {
  {"{}", function() return {} end}, {"{{}}", function() return {{}} end}, {"{1, nil, 3}", function() return {1, nil, 3} end},
  {"{[0] = 1, [1 << 40] = 2}", function() return {[0] = 1, [1 << 40] = 2} end}, {"{[1.5] = 1}", function() return {[1.5] = 1} end},
  {"{nan}", function() return {0 / 0} end}, {"{'a\\0b'}", function() return {"a\0b", "\27[1m"} end},
  {"{nonsense = 1}", function() return {nonsense = 1} end}, {"{['\\27[1m'] = 1}", function() return {["\27[1m"] = 1} end},
  {"a table in itself", cyclic}, {"a metatable that raises", raising}, {"nested 300 deep", deep},
  {"50,000 entries", many},
  {"a function that raises", function() return raise end},
  {"a function that returns nothing", function() return function() end end},
  {"a function that returns useless values", function() return function() return {}, print, "x" end end},
  {"a function that yields", function() return function() coroutine.yield(1) end end},
  {"a coroutine", function() return coroutine.create(raise) end},
  {"{print, true, 'x'}", function() return {print, true, "x"} end},
}

--- Returns the description of a wrong value, and the value.
function values.ugly(draw, objects)
  local n = draw(#PLAIN + #MADE + 8)
  if n <= #PLAIN then return PLAIN[n][1], PLAIN[n][2] end
  local made = MADE[n - #PLAIN]
  if made then return made[1], made[2]() end
  local class = objects.classes[draw(#objects.classes)]
  return "nw." .. class, objects.make(class)
end

-- ---- Valid values of a type

-- Valid values for parameters and fields whose type does not determine a valid value, by name.
local NAMED = {
  dtype = {"f32", "i32", "f64", "bool", "u8"}, path = {"out.npy", "out.json", "out.svg", "out.so", "out.csv"},
  shape = {{4, 4}, {3}, 5}, sizes = {{M = 8}}, params = {{N = 4}, {a = {1, 2}, b = {"x"}}}, loop = {"i", "j", "k"},
  loops = {{"i", "j"}}, factors = {{4, 4}}, factor = {4}, name = {"T", "x1"}, machine = {"skylake_x", "zen5"}, json = {"[]"},
  primitive = {"split"}, arguments = {{"i", 4}}, version = {0, 1}, format = {"lua", "json"}, what = {"loops", "lowered"},
  text = {"nest n\nparam N = 4\narray A: f64[N]\nfor i in 0..N:\n  A[i] = 1\n"}, counts = {{mac = 10}}, reps = {1}, rounds = {1},
  schedules = {1}, kernels = {{{rows = 2, schedule = function() end}}}, condition = {"M >= 1", "M % 4 == 0"}, fact = {"M % 4 == 0"},
  columns = {{{"a", 1}}}, kernel = {"gemm", "blur"}, feed = {"full", "misses"}, style = {"bars", "lines"}, tail = {"guard"},
  scope = {"local", "global"}, intrinsic = {"none"}, stage = {"C"}, tensor = {"A"}, begin = {1}, level = {1}, values = {{8, 16}},
  title = {"a title"}, total = {3}, size = {"M"}, tag = {"blockIdx.x"}, key = {"note"}, value = {1, "word"}, least = {0.01},
}

local PLAIN_OF = {
  integer = {1, 2, 4, 0, 3, 8}, number = {0.5, 1, 2.0, 0}, string = {"x", "C", "f32", "gemm"}, boolean = {true, false},
  table = {{}, {4, 4}, {M = 8}}, ["nil"] = {}, userdata = {io.stdout}, lightuserdata = {},
  ["function"] = {function(...) return (...) end, function() return 1 end, function(a) return a, 2 end},
  ["nw.label"] = {"a label"}, any = {1, "text", true, {1, 2}, print},
}

local valid

local function valid_list(t, draw, objects)
  local out = {}
  for n = 1, draw(3) do out[n] = valid(t.item, draw, objects) end
  return out
end

local function valid_fields(t, draw, objects)
  local out = {}
  for _, field in ipairs(t.of) do
    if not field.optional or draw(3) == 1 then out[field.name] = valid(field.type, draw, objects, field.name) end
  end
  return out
end

--- Returns a valid value of this type for the parameter or field with this name.
function valid(t, draw, objects, name)
  local kind = NAMED[name]
  if kind and draw(3) > 1 then return kind[draw(#kind)] end
  if t.kind == "union" then return valid(t.of[draw(#t.of)], draw, objects) end
  if t.kind == "literal" then return t.text end
  if t.kind == "list" then return valid_list(t, draw, objects) end
  if t.kind == "fields" then return valid_fields(t, draw, objects) end
  if t.kind == "map" then return {a = 1} end
  local class = t.name ~= "nw.label" and t.name:match "^nw%.(%w+)$"
  if class then return objects.make(class) end
  local list = PLAIN_OF[t.name]
  return list[draw(math.max(#list, 1))]
end

values.valid = valid

return values
