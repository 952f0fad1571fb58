--- An LSTM cell as in TVM: a scan with two states, and with stages inside it that read the states.
local nw = require "nestwright"

local recurrent = {}

-- The functions of the gates. Those of integers are no real gates, but their results are exact.
local function gate(dtype, x)
  if dtype:find "f" then return 1 / (1 + nw.exp(-x)) end
  return nw.max(nw.min(x, 7), -2)
end
local function squashed(dtype, x)
  if dtype:find "f" then return nw.tanh(x) end
  return nw.max(nw.min(x // 2, 5), -5)
end

--- Returns the outputs h and c of a cell with `times` steps of time, `batch` rows and n elements, and its tensors by name.
--- dtype: f32 by default.
function recurrent.lstm(times, batch, n, dtype)
  dtype = dtype or "f32"
  local shape = {times, batch, n}
  local X, W = nw.placeholder({times, 4, batch, n}, dtype, "X"), nw.placeholder({4, n, n}, dtype, "W")
  local H, C = nw.scan_state(shape, dtype, "H"), nw.scan_state(shape, dtype, "C")
  local function zero(_, _, _) return nw.cast(0, dtype) end
  local h0, c0 = nw.compute({1, batch, n}, zero, "h0"), nw.compute({1, batch, n}, zero, "c0")
  local k = nw.reduce_axis(n, "k")
  local h2h = nw.compute({times, 4, batch, n}, function(t, g, b, j) return nw.sum(H(t - 1, b, k) * W(g, j, k), k) end, "h2h")
  local gates = nw.compute({times, 4, batch, n}, function(t, g, b, j) return X(t, g, b, j) + h2h(t, g, b, j) end, "gates")
  local function part(g, f, name)
    return nw.compute(shape, function(t, b, j) return f(dtype, gates(t, g, b, j)) end, name)
  end
  local in_gate, in_value = part(0, gate, "in_gate"), part(1, squashed, "in_value")
  local forget, out_gate = part(2, gate, "forget"), part(3, gate, "out_gate")
  local next_c = nw.compute(shape, function(t, b, j)
    return forget(t, b, j) * C(t - 1, b, j) + in_gate(t, b, j) * in_value(t, b, j)
  end, "next_c")
  local next_h = nw.compute(shape, function(t, b, j) return out_gate(t, b, j) * squashed(dtype, next_c(t, b, j)) end, "next_h")
  local new_h = nw.compute(shape, function(t, b, j) return next_h(t, b, j) end, "new_h")
  local new_c = nw.compute(shape, function(t, b, j) return next_c(t, b, j) end, "new_c")
  local h, c = nw.scan({h0, c0}, {new_h, new_c}, {H, C}, "lstm")
  return {h, c}, {X = X, W = W, h2h = h2h, gates = gates, in_gate = in_gate, in_value = in_value, forget = forget,
    out_gate = out_gate, next_c = next_c, next_h = next_h}
end

return recurrent
