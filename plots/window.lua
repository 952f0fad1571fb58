--- Opens pictures in a window on the desktop.
local core = require "nestwright.core"
local errors = require "nestwright.language.errors"
local gnuplot = require "nestwright.plots.gnuplot"
local svg = require "nestwright.plots.svg"

local window = {}

local TERMINALS = {"qt", "wxt", "x11"}

local function desktop() return (os.getenv "DISPLAY" or "") ~= "" or (os.getenv "WAYLAND_DISPLAY" or "") ~= "" end

-- Returns the gnuplot terminal for windows. X11's terminal does not support Wayland.
local function terminal()
  for _, name in ipairs(TERMINALS) do
    local reachable = name ~= "x11" or (os.getenv "DISPLAY" or "") ~= ""
    if reachable and gnuplot.has(name) then return name end
  end
end

local function open_file(p)
  local path = core.temp_dir() .. "/picture.svg" -- not deleted, because the viewer may read it later
  gnuplot.write(path, (svg.of(p)))
  local ok, r = pcall(core.run_program, {"xdg-open", path}, nil, "xdg-open starts")
  if ok and r and r.status == 0 then return end
  errors.fail("io", "install gnuplot-qt, or open the file yourself", "no window could be opened; the picture is in %s", path)
end

function window.open(p)
  if not desktop() then
    errors.fail("io", "plot:save(\"x.svg\") writes a file; plot:show() draws on the terminal",
      "there is no desktop here: neither DISPLAY nor WAYLAND_DISPLAY is set")
  end
  local name = terminal()
  if not name then return open_file(p) end
  gnuplot.open_window(p.script, ("%s size %d,%d noenhanced font 'sans,10'"):format(name, p.size[1], p.size[2]))
end

return window
