#!/usr/bin/env python3
"""A room includes only rooms listed before it, and only the rooms that may see a library include its headers."""
import pathlib, re, sys

ROOMS = "base hw ir poly te sched lower interp codegen run check cost tune graph".split()
top = pathlib.Path(__file__).resolve().parents[2]
bad = []

def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if m:
            yield number, m.group(1)

def owner(path):
    parts = path.relative_to(top).parts
    return parts[1] if parts[0] == "core" and len(parts) > 2 else None

def is_llvm_side(path):
    return owner(path) in ("codegen", "run") and re.match(r"(llvm|jit)", path.name)

for path in sorted(top.glob("core/**/*.[chd]*")) + sorted(top.glob("lua/**/*.[ch]")) + sorted(top.glob("repl/*.[ch]")):
    room, where = owner(path), path.relative_to(top)
    front = where.parts[0] in ("lua", "repl", "jupyter")
    for number, name in includes(path):
        first = name.split("/")[0]
        at = f"{where}:{number}: "
        if room and first in ROOMS and ROOMS.index(first) > ROOMS.index(room):
            bad.append(at + f"room {room} includes {name}, which comes later")
        if re.match(r"llvm", first) and not is_llvm_side(path):
            bad.append(at + f"{name}: LLVM headers belong in codegen/llvm* and run/jit*")
        if first == "isl" and room != "poly":
            bad.append(at + f"{name}: isl headers belong in poly")
        if re.fullmatch(r"(lua|lauxlib|lualib|luaconf)\.h|lua5\.4/.*", name) and not front:
            bad.append(at + f"{name}: Lua headers belong in lua, repl and jupyter")
        if first == "readline" and where.parts[0] != "repl":
            bad.append(at + f"{name}: readline belongs in repl")

print("\n".join(bad) if bad else "layers: every room includes only rooms before it")
sys.exit(bool(bad))
