--- Measures the CPU time of the first compilation in a process, including the time to load LLVM.
package.path = "tests/bench/?.lua;" .. package.path
package.cpath = "build/bench/?.so;" .. package.cpath
local peers = require "peers"
local s = require "_schedules".pointwise(1)
local t = peers.cpu_ms()
s:build {threads = 1, cache = false}
print(("%.2f first_ms"):format(peers.cpu_ms() - t))
