--- Tests JSON: decoding an encoded value returns the same value, and invalid JSON is refused.
local json = require "nestwright.show.json"

local function reads(text, value) assert.same(value, json.decode(text)) end
local function fails(text, says)
  local ok, err = pcall(json.decode, text)
  assert.is_false(ok, text)
  assert.truthy(err:find("not JSON: " .. says, 1, true), err)
end

describe("JSON", function()
  it("reads characters beyond U+FFFF, which JSON writes as surrogate pairs", function()
    reads('"\\ud83d\\ude00"', "\u{1F600}")
    reads('"\\u00e9\\u20ac\\u0000"', "\u{e9}\u{20ac}\0")
    fails('"\\ud83d"', "incomplete surrogate pair")
    fails('"\\ude00\\ud83d"', "incomplete surrogate pair")
    fails('"\\ud83d\\u0041"', "incomplete surrogate pair")
    fails('"\\u12"', "bad \\u escape")
    fails('"\\q"', "unknown escape")
    fails('"\\', "unknown escape")
  end)

  it("accepts exactly the numbers of JSON", function()
    reads("[0, -1, 2.5, 1e3, 1E-2, 9223372036854775807]", {0, -1, 2.5, 1000.0, 0.01, math.maxinteger})
    for _, text in ipairs {"01", "-", "+1", ".5", "1.", "0x10", "nan", "inf", "1e"} do fails(text, "") end
    fails("1e999", "a number is too large")
    fails("-00.5", "a number begins with 0")
  end)

  it("keeps the sign of zero", function() assert.equal(-math.huge, 1 / json.decode(json.encode(-0.0))) end)

  it("refuses a repeated key", function()
    fails('{"a": 1, "b": 2, "a": 3}', "duplicate key at character 18")
    reads('{"a": 1, "A": 2}', {a = 1, A = 2})
  end)

  it("says at which position a text is invalid", function()
    fails("", "expected a value at character 1")
    fails("[1, 2", "expected , or ] at character 6")
    fails('{"a" 1}', "expected : at character 5")
    fails("{} {}", "something follows the value at character 3")
    fails(("["):rep(200), "nested too deeply")
  end)
end)
