"""A real browser for pages, which may load, log and show nothing beyond the page itself."""

import shutil
from contextlib import contextmanager

import pytest

from dcd.results import report

# The shell has no window and is three times as fast.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DISPLAYED = "all => all.filter(element => getComputedStyle(element).display !== 'none').length"


@contextmanager
def launched():
    """A browser; the test is skipped if there is none."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def written(results, folder):
    """The addresses of the reports of results, by the same names."""
    for name, result in results.items():
        report.write(result, folder / f"{name}.html")
    return {name: (folder / f"{name}.html").as_uri() for name in results}


@contextmanager
def visits_by_name(browser, addresses):
    """As `visits`, with names of addresses."""
    with visits(browser) as visit:
        yield lambda name, width=1280, **options: visit(addresses[name], width, **options)


@contextmanager
def visits(browser):
    """A function that opens an address in a fresh context; checks that nothing else was requested."""
    opened = []

    def visit(address, width=1280, **options):
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        page = context.new_page()
        page.set_default_timeout(10_000)
        seen = []
        page.on("request", lambda request: seen.append(f"request {request.url}"))
        page.on("console", lambda message: seen.append(f"console {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"error {error}"))
        page.on("dialog", lambda dialog: (seen.append(f"dialog {dialog.message}"), dialog.dismiss()))
        page.goto(address)
        opened.append((context, seen, address))
        return page

    yield visit
    for context, seen, address in opened:
        context.close()
        assert seen == [f"request {address}"]
