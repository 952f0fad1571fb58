--- Runs nestwright, the program that runs this script, again in another process with limits.
local child = {}

local function quoted(s) return "'" .. tostring(s):gsub("'", "'\\''") .. "'" end

-- Returns the path of the program: the first word of the command line. It is in `arg`, before the script.
local function program()
  local n = -1
  while arg[n - 1] do n = n - 1 end
  return arg[n]
end

--- Runs the program with these arguments. Returns {text = standard output and error, code = exit status}. The status is 124 if the
--- time limit was exceeded. The options are:
---   kib          limit on the address space in KiB
---   seconds      time limit; by default 60
---   blocks       limit on file sizes in blocks of 512 bytes
---   environment  variables, such as "A=1 B=2"
---   input        a file for standard input
function child.run(arguments, options)
  local words = {}
  for n, word in ipairs(arguments) do words[n] = quoted(word) end
  local limits = (options.kib and "ulimit -v " .. options.kib .. "; " or "")
    .. (options.blocks and "ulimit -f " .. options.blocks .. "; " or "")
  local environment = options.environment and "env " .. options.environment or ""
  local line = ("ulimit -c 0; %sexec %s timeout -k 5 %d %s %s <%s 2>&1"):format(limits, environment, options.seconds or 60,
    quoted(program()), table.concat(words, " "), quoted(options.input or "/dev/null"))
  local process = assert(io.popen(line))
  local text = process:read "a"
  local _, how, code = process:close()
  return {text = text, code = how == "signal" and 128 + code or code}
end

return child
