--- Makes disguises. A disguise is what a session may find in place of a file, such as a file of another user, a directory, or an
--- endless file. Also makes damaged files.
local sandbox = require "_sandbox"
local must, write = sandbox.must, sandbox.write

local function as_nobody(path) must("chown 65534 " .. path) end

-- {a description, a function that makes the disguise from a path and the text of the file}, with the fields
--   nobody  true: only root can make the disguise
--   trust   true: another user may have written the file; this is allowed if the user names the file
local disguises = {
  {"belongs to another user", function(path, text)
    write(path, text)
    must("chmod 600 " .. path)
    as_nobody(path)
  end, nobody = true, trust = true},
  {"may be written by anybody", function(path, text) write(path, text) must("chmod 666 " .. path) end, trust = true},
  {"may be written by a group", function(path, text) write(path, text) must("chmod 660 " .. path) end, trust = true},
  {"is a link to a file of another user", function(path, text)
    local other = sandbox.folder() .. "/other"
    write(other, text)
    as_nobody(other)
    must(("ln -s %s %s"):format(other, path))
  end, nobody = true, trust = true},
  {"is a link to itself", function(path) must(("ln -s %s %s"):format(path, path)) end},
  {"is a link to an endless device", function(path) must("ln -s /dev/zero " .. path) end},
  {"is a FIFO", function(path) must("mkfifo " .. path) end},
  {"is a directory", function(path) must("mkdir " .. path) end},
  {"is a terabyte long", function(path) must("truncate -s 1T " .. path) must("chmod 600 " .. path) end},
}

local damages = {
  {"is empty", function() return "" end},
  {"is cut short", function(text) return text:sub(1, #text // 2) end, quick = true},
  {"contains a NUL", function(text) return text:sub(1, #text // 3) .. "\0" .. text:sub(#text // 3 + 1) end},
  {"consists of random bytes", function(text)
    local bytes = {}
    for n = 1, math.max(#text, 1000) do bytes[n] = string.char(math.random(0, 255)) end
    return table.concat(bytes)
  end, quick = true},
  {"has flipped bits", function(text)
    for _ = 1, 8 do
      local at = math.random(#text)
      text = text:sub(1, at - 1) .. string.char(text:byte(at) ~ 1 << math.random(0, 6)) .. text:sub(at + 1)
    end
    return text
  end},
}

--- Returns the state and the contents of a file, to see whether the file was changed.
local function state_of(path)
  local text = must("stat -c '%F %s %u %a %N %i' " .. path)
  return text:find "^regular" and not text:find "1099511627776" and text .. sandbox.read(path) or text
end

--- Calls try(path, title) for each disguise, with a new file, and checks that the file is unchanged. If `trusted` is true, files
--- that another user may have written are allowed, so these disguises are left out.
local function each(kind, folder_of, text, trusted, try)
  for _, d in ipairs(disguises) do
    local title, name = d[1], kind .. " that " .. d[1]
    if d.nobody and not sandbox.is_root then
      sandbox.skip(name, "only root can make files of another user")
    elseif not (d.trust and trusted) then
      sandbox.case(name, function()
        local path = folder_of()
        d[2](path, text)
        local before = state_of(path)
        local wrong = try(path, title)
        if wrong then return wrong end
        if state_of(path) ~= before then return "the file was changed: " .. state_of(path) end
      end)
    end
  end
end

--- Calls try(path, title) for each kind of damage. In a quick run, only some kinds are tried.
local function each_damage(kind, folder_of, text, try)
  for _, d in ipairs(damages) do
    local function damaged()
      local path = folder_of()
      write(path, d[2](text))
      must("chmod 600 " .. path)
      return try(path, d[1])
    end
    if not sandbox.quick or d.quick then sandbox.case(kind .. " that " .. d[1], damaged) end
  end
end

return {each = each, each_damage = each_damage}
