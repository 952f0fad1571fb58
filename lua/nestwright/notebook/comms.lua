--- Comms are channels between objects of this process and of a front end (Jupyter messaging, "Custom messages").
local json = require "nestwright.show.json"

local comms = {}

local open, targets = {}, {}
local front

--- Sets the functions of the kernel that send messages.
function comms.connect(kernel) front = kernel end

local function send(kind, comm, data, extra)
  local content = {comm_id = comm.id, data = data or {}}
  for key, value in pairs(extra or {}) do content[key] = value end
  front.publish(kind, json.encode(content), json.encode(comm.metadata or {}))
end

local methods = {}
local meta = {__index = methods, __name = "nestwright.comm"}

--- Sends data to the other end of a channel.
function methods:send(data) send("comm_msg", self, data) end

function methods:close(data)
  open[self.id] = nil
  send("comm_close", self, data)
end

local number = 0

--- Returns a unique name for a channel or an output.
function comms.new_id()
  number = number + 1
  return ("nestwright-%x-%x-%d"):format(os.time(), math.random(0, 0xffffff), number)
end

--- Opens a channel to the handler that the front end has registered as `target`, and returns the channel. on_message(data) is
--- called for each message that arrives.
function comms.open(target, data, on_message, metadata, id)
  local comm = setmetatable({id = id or comms.new_id(), target = target, on_message = on_message, metadata = metadata}, meta)
  open[comm.id] = comm
  send("comm_open", comm, data, {target_name = target})
  return comm
end

--- Accepts the channels that front ends open to the name `target`. on_open(comm, data) is called for each of them.
function comms.register(target, on_open) targets[target] = on_open end

function comms.list(target)
  local found = {}
  for id, comm in pairs(open) do
    if target == "" or comm.target == target then found[id] = {target_name = comm.target} end
  end
  return found
end

-- ---- messages from the front end

function comms.opened(message)
  local comm = setmetatable({id = message.comm_id, target = message.target_name}, meta)
  local on_open = targets[message.target_name]
  if not on_open then
    send("comm_close", comm, {})
    return
  end
  open[comm.id] = comm
  on_open(comm, message.data or {})
end

function comms.received(message)
  local comm = open[message.comm_id]
  if comm and comm.on_message then comm.on_message(message.data or {}) end
end

function comms.closed(message)
  local comm = open[message.comm_id]
  open[message.comm_id] = nil
  if comm and comm.on_close then comm.on_close(message.data or {}) end
end

return comms
