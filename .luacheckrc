std = "lua54"
max_line_length = 132
exclude_files = {"build", "build/**", "lua/meta"}
files["tests/spec"] = {std = "lua54+busted"}
files["tests/prop"] = {std = "lua54"}
files["lua/nestwright"] = {read_globals = {"later"}}
