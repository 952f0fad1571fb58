--- Tests that the example in the README runs as it is printed.
describe("the README's example", function()
  it("runs", function()
    local file = assert(io.open "README.md")
    local text = file:read "a"
    file:close()
    local code = assert(text:match "readme_spec.lua %-%->%s*```lua\n(.-)```", "no example found")
    local printed = {}
    local env = setmetatable({print = function(...) printed[#printed + 1] = tostring((...)) end}, {__index = _G})
    assert(load(code, "=README", "t", env))()
    assert.are.equal(2, #printed)
    assert.truthy(printed[1]:find "for i_o in 0..32")
    assert.truthy(printed[2]:find "median")
  end)
end)
