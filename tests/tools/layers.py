#!/usr/bin/env python3
"""Checks which files a folder may include and call. A folder of core is called a room. A room may include and call
only the rooms that ROOMS lists before it. Only the folders that LIBRARIES names may include and call a library.

usage: layers.py [BUILD]     with BUILD, checks the symbols of its object files as well as the includes"""
import pathlib, re, subprocess, sys

ROOMS = "base hw target ir poly te sched lower interp codegen run check access nest cache device cost learn tune graph".split()
FRONTS = ("lua", "repl", "jupyter")
# For each library: its name, patterns of its headers and of its symbols, and the folders that may use it.
LIBRARIES = [
    ("LLVM", r"llvm.*/", r"LLVM", ("core/codegen/llvm", "core/run/jit")),
    ("isl", r"isl/", r"isl_", ("core/poly",)),
    ("Lua", r"(lua|lauxlib|lualib|luaconf)\.h$|lua5\.4/", r"lua(L|open)?_", ("lua", "repl", "jupyter")),
    ("readline", r"readline/", r"rl_|add_history$|readline$", ("repl",)),
    ("ZeroMQ", r"zmq\.h$", r"zmq_", ("jupyter",)),
    ("jansson", r"jansson\.h$", r"json_(?!.*nw)", ("jupyter",)),
    ("libsodium", r"sodium", r"sodium_|crypto_", ("jupyter",)),
    ("XGBoost", r"xgboost/", r"XG|XGB|XGD", ("core/learn",)),
    ("libxsmm", r"libxsmm", r"libxsmm", ("core/run/xsmm",)),
]
top = pathlib.Path(__file__).resolve().parents[2]
bad = []


def room_of(where):
    parts = where.parts
    return parts[1] if parts[0] == "core" and len(parts) > 2 else None


def may_see(where, folders):
    return any(str(where).startswith(folder + "/") for folder in folders)


def after(room, other):
    return room in ROOMS and other in ROOMS and ROOMS.index(other) > ROOMS.index(room)


def look_at_includes():
    sources = [p for folder in ("core",) + FRONTS for p in top.glob(folder + "/**/*.[chd]*") if p.is_file()]
    for path in sorted(sources):
        where = path.relative_to(top)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            m = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            if not m:
                continue
            name, at = m.group(1), f"{where}:{number}: "
            first = name.split("/")[0]
            if after(room_of(where), first):
                bad.append(at + f"room {room_of(where)} includes {name} of a room that comes later in ROOMS")
            for library, header, _, folders in LIBRARIES:
                if re.match(header, name) and not may_see(where, folders):
                    bad.append(at + f"{name}: only {', '.join(folders)} may include headers of {library}")


def look_at_symbols(build):
    """Checks the object files, which are BUILD/CMakeFiles/TARGET.dir/PATH.o for every target."""
    defined, wanted = {}, []
    for path in sorted((build / "CMakeFiles").glob("*.dir/**/*.c.o")):
        where = pathlib.Path(*path.relative_to(build / "CMakeFiles").parts[1:])
        if where.parts[0] not in ("core",) + FRONTS or not (top / where.with_suffix("")).exists():
            continue  # left by an older build: the source file has moved
        for line in subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout.splitlines():
            kind, name = line.split()[-2:]
            if kind in "TDBRVW":
                defined[name] = where
            elif kind == "U":
                wanted.append((where, name))
    if not defined:
        sys.exit(f"layers: there are no object files in {build}")
    for where, name in wanted:
        there = defined.get(name)
        if there and after(room_of(where), room_of(there)):
            bad.append(f"{where}: calls {name} of {there}, a room that comes later in ROOMS")
        if there and room_of(where) and there.parts[0] in FRONTS:
            bad.append(f"{where}: calls {name} of {there}, which does not belong to core")
        for library, _, symbol, folders in LIBRARIES:
            if not there and re.match(symbol, name) and not may_see(where, folders):
                bad.append(f"{where}: calls {name}: only {', '.join(folders)} may call {library}")
    return len(wanted)


look_at_includes()
looked = look_at_symbols(pathlib.Path(sys.argv[1])) if len(sys.argv) > 1 else 0
symbols = f", and calls only those ({looked} calls of other files)" if looked else ""
print("\n".join(bad) if bad else f"layers: every room includes only rooms that come before it in ROOMS{symbols}")
sys.exit(bool(bad))
