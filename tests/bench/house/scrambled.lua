--- Checks that no code reads a text that is printed for people. If NW_SCRAMBLE is set, a test build reverses every word that it
--- prints. This must change only printed texts, and no results. Two environment variables can be set. NW_HOUSE is a build with
--- NW_MUTANTS (default: build/dev). NW_SPECS is the folder of the specs to run (default: tests/spec).
local left_out = require "_left_out"

local TESTED = os.getenv "NW_HOUSE" or "build/dev"

-- Returns the output of a command. Its messages are part of the output, or go to the file `messages`.
local function run(command, messages)
  local pipe = assert(io.popen(("%s 2>%s"):format(command, messages or "&1")))
  local text = pipe:read "a"
  pipe:close()
  return text
end

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line end
  return list
end

local program = TESTED .. "/bin/nestwright"
local FIGURES = program .. " tests/bench/_scrambled.lua"

-- Returns the number of figures that change when texts are scrambled.
local function changed()
  local plain, n = lines_of(run(FIGURES, "/dev/null")), 0 -- without the notes of the steps, which are texts
  local scrambled = lines_of(run("NW_SCRAMBLE=1 " .. FIGURES, "/dev/null"))
  for i = 1, math.max(#plain, #scrambled) do
    if plain[i] ~= scrambled[i] then
      print(("CHANGED: %s  ->  %s"):format(plain[i], scrambled[i]))
      n = n + 1
    end
  end
  assert(#plain > 500, "no figures: " .. table.concat(plain, "\n"))
  return n, #plain
end

-- Reads the TAP output of a file: the number of tests, and the name and the message of each test that fails.
local function tests_of(text)
  local list, all = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local failed, name = line:match "^(n?o?t? ?)ok %d+ %- (.*)$"
    all = all + (name and 1 or 0)
    if failed == "not " then list[#list + 1] = {name = name, message = ""} end
    local message = line:match "^# Failure message: (.*)$" or line:match "^# Error message: (.*)$"
    if message and #list > 0 then list[#list].message = message end
  end
  return list, all
end

-- Runs the specs with scrambled texts. Returns three numbers: the failures that count, all tests, and the failures that do not
-- count because the tests check texts (_left_out.lua). If the output for a file has no final line with the number of tests, all
-- tests of the file have failed.
local function failing()
  local failed, tests, texts = 0, 0, 0
  local files = run(("find %s -name '*_spec.lua' | LC_ALL=C sort"):format(os.getenv "NW_SPECS" or "tests/spec"))
  for _, file in ipairs(lines_of(files)) do
    if not left_out.files[file] then
      local text = run(("NW_SCRAMBLE=1 NW_BUILD=%s timeout 1200 %s tests/spec/run.lua -o TAP %s"):format(TESTED, program, file))
      local list, all = tests_of(text)
      if not text:find "1%.%.%d+%s*$" then list[#list + 1] = {name = "the whole file", message = text:sub(-300)} end
      tests = tests + all
      for _, test in ipairs(list) do
        local is_text = left_out.is(file, test.message)
        texts, failed = texts + (is_text and 1 or 0), failed + (is_text and 0 or 1)
        if not is_text then print(("FAILED: %s: %s: %s"):format(file, test.name, test.message)) end
      end
    end
  end
  return failed, tests, texts
end

return function(out)
  local shown = program .. " tests/bench/_scrambled.lua shown"
  assert(run(shown) ~= run("NW_SCRAMBLE=1 " .. shown), TESTED .. " is not a build with NW_MUTANTS: ./dev build dev")
  local differ, figures = changed()
  local failed, tests, texts = failing()
  print(("%d figures, of which %d differ; %d tests, of which %d tests of text and %d others fail"):format(figures, differ, tests,
    texts, failed))
  out:bar("house.scrambled_failures", differ + failed, "<=", 0)
end
