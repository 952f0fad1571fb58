"""Makes a cached object from a file: writes the header, with the right checksum, and then the contents of the file.
core/run/jit/jit_cache_disk.c describes the header.

usage: sign.py LIBRARY FILE NAME OUT      NAME: the name of the object, 32 digits"""
import ctypes
import sys

library, source, name, out = sys.argv[1:]
core = ctypes.CDLL(library)
core.nw_hash_bytes.restype = core.nw_hash_mix.restype = ctypes.c_uint64
core.nw_hash_bytes.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
core.nw_hash_mix.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
with open(source, "rb") as f:
    data = f.read()
key = [int(name[:16], 16), int(name[16:32], 16)]
total = core.nw_hash_mix(core.nw_hash_mix(core.nw_hash_bytes(data, len(data)), key[0]), key[1])
with open(out, "wb") as f:
    f.write(b"nwobj 1\0" + b"".join(v.to_bytes(8, "little") for v in (*key, total)) + data)
