"""A browser without a window, for tests and pictures of pages."""

import importlib.util
import shutil

#: Switches by which Chromium opens neither a window nor connections of its own.
SWITCHES = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,1000",
]
PROGRAMS = ["chromium", "chromedriver"]


def missing():
    """The reason in words why there is no browser; ``None`` if there is one."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed"
    for program in PROGRAMS:
        if shutil.which(program) is None:
            return f"{program} is not installed (Debian: chromium, chromium-driver)"
    return None


def chromium(folder):
    """A driver of Chromium with a fresh profile in a folder."""
    from selenium import webdriver

    program, driver = map(shutil.which, PROGRAMS)
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for switch in [*SWITCHES, f"--user-data-dir={folder}"]:
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
