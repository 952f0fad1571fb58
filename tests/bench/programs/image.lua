--- Programs on images.
local nw = require "nestwright"
local tools = require "programs.tools"

local function weighted(a, b, c, d, e) return (a + e) * 0.0625 + (b + d) * 0.25 + c * 0.375 end

return function(program)
  program {"gauss", sizes = {512, 512}, scratch = function(h, w) return {{h + 4, w}} end, make = function(input, h, w)
    local a = input {h + 4, w + 4}
    local t = nw.compute({h + 4, w}, function(y, x)
      return weighted(a(y, x), a(y, x + 1), a(y, x + 2), a(y, x + 3), a(y, x + 4))
    end, "T")
    return nw.compute({h, w}, function(y, x) return weighted(t(y, x), t(y + 1, x), t(y + 2, x), t(y + 3, x), t(y + 4, x)) end, "B")
  end, schedule = function(s)
    local y_o, x_o, y_i, x_i = s:tile("y_1", "x_1", 8, 16)
    s:compute_at("T", x_o)
    s:set_scope("T", "local")
    local loops = {s["T"]:axes()}
    s:vectorize(loops[2])
    s:unroll(loops[1])
    s:vectorize(x_i)
    s:unroll(y_i)
    return y_o
  end}

  program {"box_filter", sizes = {512, 512}, scratch = function(h, w) return {{h + 1, w}} end, make = function(input, h, w)
    local a = input {h, w}
    local sum = nw.scan {name = "Sum", shape = {h + 1, w}, init = function(_, _) return nw.f32(0) end,
      step = function(S, t, x) return S(t - 1, x) + a(t - 1, x) end}
    return nw.compute({h - 8, w}, function(y, x) return (sum(y + 9, x) - sum(y, x)) * (1 / 9) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "Sum", "Sum_init", "B") end}

  program {"sobel", sizes = {512, 512}, make = function(input, h, w)
    local a = input {h + 2, w + 2}
    return nw.compute({h, w}, function(y, x)
      local gx = a(y, x + 2) - a(y, x) + (a(y + 1, x + 2) - a(y + 1, x)) * 2 + (a(y + 2, x + 2) - a(y + 2, x))
      local gy = a(y + 2, x) - a(y, x) + (a(y + 2, x + 1) - a(y, x + 1)) * 2 + (a(y + 2, x + 2) - a(y, x + 2))
      return nw.sqrt(gx * gx + gy * gy)
    end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"erosion", sizes = {512, 512}, make = function(input, h, w)
    local a = input({h + 2, w + 2}, "u8")
    return nw.compute({h, w}, function(y, x)
      local least = a(y, x)
      for at = 1, 8 do least = nw.min(least, a(y + at // 3, x + at % 3)) end
      return least
    end, "B")
  end, schedule = function(s) tools.rows(s, 64, "B") end}

  program {"grey", sizes = {262144}, make = function(input, n)
    local a = input({3, n}, "u8")
    return nw.compute({n}, function(i)
      return nw.u8((nw.u16(a(0, i)) * 77 + nw.u16(a(1, i)) * 150 + nw.u16(a(2, i)) * 29) // 256)
    end, "B")
  end, schedule = function(s) tools.lanes(s, "i", 64) end}

  program {"lookup", sizes = {262144}, make = function(input, n)
    local a, t = input({n}, "u8"), input {256}
    return nw.compute({n}, function(i) return t(a(i)) end, "B")
  end, schedule = function(s) tools.lanes(s, "i", 16) end}

  program {"resize", sizes = {512, 512}, make = function(input, h, w)
    local a = input {h // 2 + 1, w // 2 + 1}
    return nw.compute({h, w}, function(y, x)
      local fx, fy = nw.f32(x % 2) * 0.5, nw.f32(y % 2) * 0.5
      local top = a(y // 2, x // 2) * (1 - fx) + a(y // 2, x // 2 + 1) * fx
      local low = a(y // 2 + 1, x // 2) * (1 - fx) + a(y // 2 + 1, x // 2 + 1) * fx
      return top * (1 - fy) + low * fy
    end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"downsample", sizes = {512, 512}, make = function(input, h, w)
    local a = input {2 * h, 2 * w}
    local rows = nw.compute({h, 2 * w}, function(y, x) return a(2 * y, x) + a(2 * y + 1, x) end, "Rows")
    return nw.compute({h, w}, function(y, x) return (rows(y, 2 * x) + rows(y, 2 * x + 1)) * 0.25 end, "B")
  end, schedule = function(s)
    tools.inside(s, s["B"].op.axis[1], "Rows")
    tools.rows(s, 16, "Rows", "B")
  end}

  program {"upsample", sizes = {1024, 1024}, make = function(input, h, w)
    local a = input {h // 2, w // 2}
    return nw.compute({h, w}, function(y, x) return a(y // 2, x // 2) end, "B")
  end, schedule = function(s) tools.rows(s, 16, "B") end}

  program {"life", sizes = {512, 512}, integers = {[1] = {0, 1}}, make = function(input, h, w)
    local a = input({h + 2, w + 2}, "u8")
    return nw.compute({h, w}, function(y, x)
      local alive = a(y, x)
      for _, at in ipairs {1, 2, 3, 5, 6, 7, 8} do alive = alive + a(y + at // 3, x + at % 3) end
      return nw.select(nw.any(nw.eq(alive, 3), nw.all(nw.eq(alive, 2), nw.eq(a(y + 1, x + 1), 1))), nw.u8(1), nw.u8(0))
    end, "B")
  end, schedule = function(s) tools.rows(s, 64, "B") end}

  program {"integral", sizes = {512, 512}, make = function(input, h, w)
    local a = input({h, w}, "i32")
    return nw.scan {name = "S", dtype = "i32", shape = {h, w}, init = function(t, x) return a(t, x) end,
      step = function(S, t, x) return S(t - 1, x) + a(t, x) end}
  end, schedule = function(s) tools.rows(s, 16, "S", "S_init") end}

  program {"blend", sizes = {262144}, make = function(input, n)
    local a, b, alpha = input({n}, "u8"), input({n}, "u8"), input({n}, "u8")
    return nw.compute({n}, function(i)
      local by = nw.u16(alpha(i))
      return nw.u8((nw.u16(a(i)) * (256 - by) + nw.u16(b(i)) * by) // 256)
    end, "C")
  end, schedule = function(s) tools.lanes(s, "i", 64) end}
end
