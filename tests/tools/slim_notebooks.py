"""Leaves out the SVG pictures in the stored outputs of notebooks, which are also in the HTML or, if they are large, stored as PNG.
No viewer of notebooks uses them: all prefer HTML, and converters to PDF use PNG.
usage: slim_notebooks.py NOTEBOOK..."""
import json
import sys

for path in sys.argv[1:]:
    with open(path) as f:
        notebook = json.load(f)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "text/html" in data and "image/png" in data:
                data.pop("image/svg+xml", None)
    with open(path, "w") as f:
        json.dump(notebook, f, indent=1, ensure_ascii=False)
        f.write("\n")
