"""Make the pictures of the gallery and of the tutorial: `python docs/gallery.py`.

Those of the gallery are made by the code of the page itself, that of the tutorial by a browser (playwright
and chromium), and skipped without one.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

import matplotlib as mpl

DOCS = Path(__file__).parent.resolve()
IMAGES = DOCS / "images"


def run_blocks(page: Path, folder: Path, *, before: str | None = None) -> None:
    """Run the Python blocks of a page in a folder, up to one that contains the text `before`."""
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    namespace: dict[str, object] = {}
    home = Path.cwd()
    os.chdir(folder)
    try:
        for block in blocks:
            if before is not None and before in block:
                break
            exec(compile(block, str(page), "exec"), namespace)
    finally:
        os.chdir(home)


def report_picture(browser: str) -> None:
    """The report of the tutorial as a browser shows it, with one variable chosen."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        run_blocks(DOCS / "tutorial.md", Path(folder), before="import dowhy")
        window = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1180, "height": 1150})
        page.goto((Path(folder) / "sachs.html").as_uri())
        page.screenshot(path=IMAGES / "tutorial-report.png")
        window.close()


if __name__ == "__main__":
    mpl.use("Agg")
    (IMAGES / "gallery").mkdir(exist_ok=True)
    run_blocks(DOCS / "gallery.md", IMAGES / "gallery")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("There is no chromium: the picture of the tutorial was left as it is.")
    else:
        report_picture(chromium)
