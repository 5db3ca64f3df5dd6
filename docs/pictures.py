"""Make the pictures of the README: `python docs/pictures.py`."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import dcd
from dcd.results.plot import plot_cpdag

IMAGES = Path(__file__).parent / "images"


def graph_picture() -> None:
    """The graph found in the Sachs data beside the published one."""
    data = dcd.datasets.load_sachs()
    model = dcd.RobustDCD().fit(data.frame)
    ax = plot_cpdag(model.cpdag_, truth=data.cpdag)
    ax.figure.savefig(IMAGES / "sachs.png", dpi=150)


def decoupling_picture() -> None:
    """A chain cause -> middle -> target, before and after decoupling cause and middle."""
    rng = np.random.default_rng(1)
    cause = rng.standard_normal(600)
    middle = cause + rng.standard_normal(600)
    target = middle + rng.standard_normal(600)
    weights = dcd.weights.decoupling_weights(np.column_stack([cause, middle])).weights
    panels = [
        ("cause", cause, "middle", middle),
        ("cause", cause, "target", target),
        ("middle", middle, "target", target),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(9, 5.6), layout="constrained", sharex=True, sharey="row")
    for row, (label, w) in enumerate((("as measured", np.ones(600)), ("decoupled", weights))):
        for column, (x_name, x, y_name, y) in enumerate(panels):
            ax = axes[row, column]
            ax.scatter(x, y, s=8 * w, color="#0072B2", alpha=0.35, linewidths=0)
            mean_x, mean_y = np.average(x, weights=w), np.average(y, weights=w)
            covariance = np.cov(x, y, aweights=w)
            slope = covariance[0, 1] / covariance[0, 0]
            r = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
            ends = np.array([x.min(), x.max()])
            ax.plot(ends, mean_y + slope * (ends - mean_x), color="#D55E00", linewidth=2)
            ax.set_title(f"{label}, r = {r:.2f}", fontsize="medium")
            ax.set(xlabel=x_name if row else None, ylabel=y_name)
            ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "decoupling.png", dpi=130)


def report_picture() -> None:
    """The graph in the report of the penguins, as a browser shows it; unchanged without a browser."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser")
    browser = next(filter(None, map(shutil.which, names)), None)
    if browser is None:
        print("There is no chromium: the picture of the report was left as it is.")
        return
    from playwright.sync_api import sync_playwright

    script = Path(__file__).parent.parent / "examples" / "penguins.py"
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run([sys.executable, "-W", "ignore", script, folder], check=True)
        window = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = window.new_page(viewport={"width": 1400, "height": 760}, device_scale_factor=1.3)
        page.goto((Path(folder) / "penguins.html").as_uri())
        box = page.locator("#graph").bounding_box()
        assert box is not None
        part = {"x": 0, "y": box["y"] - 16, "width": 1400, "height": 640}
        page.screenshot(path=IMAGES / "report.png", full_page=True, clip=part)
        window.close()


if __name__ == "__main__":
    mpl.use("Agg")
    graph_picture()
    decoupling_picture()
    report_picture()
