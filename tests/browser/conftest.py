import shutil

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium without a window."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Debian's chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def jupyter(tmp_path_factory):
    """One server of ``gexplorer lab`` for all tests that need one: its address and its folder."""
    pytest.importorskip("jupyterlab", reason="JupyterLab is not installed (the extra 'lab')")
    from tests.browser.lab_server import lab_server

    folder, settings = tmp_path_factory.mktemp("books"), tmp_path_factory.mktemp("settings")
    # As "Settings > Save Widget State Automatically": without it, JupyterLab keeps nothing of any widget.
    own = settings / "jupyter_config_dir" / "lab" / "user-settings" / "@jupyter-widgets" / "jupyterlab-manager"
    own.mkdir(parents=True)
    (own / "plugin.jupyterlab-settings").write_text('{"saveState": true}')
    with lab_server(folder, settings) as address:
        yield address, folder


@pytest.fixture
def opened(browser):
    """Opens pages; at the end none has asked for anything but itself, and none has complained of anything."""
    pages = []

    def open_page(path, fragment="", width=1280, height=860, **options):
        page = browser.new_page(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
        page.requests, page.complaints = [], []
        page.on("request", lambda request: page.requests.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto(path.as_uri() + fragment)
        page.wait_for_selector("html[data-gexplorer=complete]", timeout=30_000)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        assert page.complaints == []
        page.close()
