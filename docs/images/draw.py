"""Draws the pictures of the README anew: ``make images``. Needs Debian's Chromium."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

import gexplorer

HERE = Path(__file__).parent
SIZE = {"width": 1440, "height": 900}
# For each picture: the model, where the cursor is, and the theme.
PICTURES = {
    "explorer.png": ("bert-base", "#step=add_layer_norm&reject=0", "light"),
    "rewrite.png": ("bert-base", "#step=flash_attention&rewrite=0", "dark"),
}


def main() -> None:
    """Writes every picture beside this file, and says how large it is."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        for name, (model, place, theme) in PICTURES.items():
            report = gexplorer.compile(model).report(Path(folder) / f"{name}.html", variants=2)
            page = browser.new_page(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")
            page.goto(f"{report.as_uri()}{place}")
            page.wait_for_selector("html[data-gexplorer=complete]")
            page.wait_for_timeout(1500)
            page.screenshot(path=HERE / name)
            page.close()
            picture = Image.open(HERE / name).convert("RGB")
            # The usual choice of 256 colours goes by area and loses those of small signs.
            picture = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            picture.save(HERE / name, optimize=True)
            print(f"{HERE / name}: {(HERE / name).stat().st_size:,} bytes")
        browser.close()


if __name__ == "__main__":
    main()
