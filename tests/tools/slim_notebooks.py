"""Makes the pictures in the stored outputs of notebooks smaller. Leaves out the SVG pictures, which are also in the HTML or, if they
are large, stored as PNG: no viewer of notebooks uses them, since all prefer HTML, and converters to PDF use PNG. The PNG pictures get
a palette of 256 colours, which halves them: their colours are few, and the shades at the edges of letters are many but alike. Leaves
out the last states of progress bars, which only a slow machine shows.
usage: slim_notebooks.py NOTEBOOK..."""
import base64
import collections
import json
import re
import struct
import sys
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MOST = 256  # colours of a palette
RGB, PALETTE = 2, 3  # kinds of pictures


def parts_of(png):
    at = len(SIGNATURE)
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        yield kind, png[at + 8:at + 8 + size]
        at += 12 + size


def part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def unfilter(how, line, before):
    """Undoes the filter of a line of pixels, in place (the PNG specification, section 9)."""
    for x in range(len(line)):
        a = line[x - 3] if x >= 3 else 0
        b, c = before[x], before[x - 3] if x >= 3 else 0
        if how == 1:
            line[x] = (line[x] + a) & 255
        elif how == 2:
            line[x] = (line[x] + b) & 255
        elif how == 3:
            line[x] = (line[x] + (a + b) // 2) & 255
        else:
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            line[x] = (line[x] + (a if pa <= pb and pa <= pc else b if pb <= pc else c)) & 255


def lines_of(raw, width, height):
    """Returns the lines of pixels, each pixel three bytes."""
    size, out = width * 3, []
    before = bytearray(size)
    for y in range(height):
        begin = y * (size + 1)
        line = bytearray(raw[begin + 1:begin + 1 + size])
        if raw[begin]:
            unfilter(raw[begin], line, before)
        before = line
        out.append([bytes(line[x:x + 3]) for x in range(0, size, 3)])
    return out


def palette_of(lines):
    """Returns at most 256 colours, and a table from each colour to the number of the nearest of them."""
    count = collections.Counter(pixel for line in lines for pixel in line)
    kept = [colour for colour, _ in count.most_common(MOST)]
    nearest = {colour: n for n, colour in enumerate(kept)}
    for colour in count:
        if colour not in nearest:
            nearest[colour] = min(range(len(kept)), key=lambda n: sum((a - b) ** 2 for a, b in zip(colour, kept[n])))
    return kept, nearest


def with_palette(png):
    """Returns a picture with a palette, or the same picture if it has one or is transparent, or would not be smaller."""
    found = list(parts_of(png))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", dict(found)[b"IHDR"])
    raw = zlib.decompress(b"".join(data for kind, data in found if kind == b"IDAT"))
    if depth != 8 or interlaced or colour != RGB:
        return png
    lines = lines_of(raw, width, height)
    kept, nearest = palette_of(lines)
    body = b"".join(b"\0" + bytes(nearest[pixel] for pixel in line) for line in lines)
    out = SIGNATURE + part(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, PALETTE, 0, 0, 0)) + part(b"PLTE", b"".join(kept))
    out += part(b"IDAT", zlib.compress(body, 9)) + part(b"IEND", b"")
    return out if len(out) < len(png) else png


def text(value):
    return "".join(value) if isinstance(value, list) else value


def slim(data):
    if "text/html" in data and "image/png" in data:
        data.pop("image/svg+xml", None)
    if "image/png" in data:
        old = "".join(text(data["image/png"]).split())
        new = base64.b64encode(with_palette(base64.b64decode(old))).decode()
        if "text/html" in data and old in text(data["text/html"]):
            data["text/html"] = text(data["text/html"]).replace(old, new).splitlines(True)
        data["image/png"] = new


def is_progress(output):
    words = text(output.get("data", {}).get("text/plain", ""))
    return output["output_type"] == "display_data" and re.fullmatch(r".*: done after [\d.]+ \w+", words) is not None


for path in sys.argv[1:]:
    with open(path) as f:
        notebook = json.load(f)
    for cell in notebook["cells"]:
        if "outputs" in cell:
            cell["outputs"] = [o for o in cell["outputs"] if not is_progress(o)]
        for output in cell.get("outputs", []):
            slim(output.get("data", {}))
    with open(path, "w") as f:
        json.dump(notebook, f, indent=1, ensure_ascii=False)
        f.write("\n")
