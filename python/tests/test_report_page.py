"""Pages of plans: their text, and their behaviour in a browser."""

import json

import pytest
from browser import chromium, missing

import remat_bb

EVIL = "</script><img src=x onerror=window.hurt=1>"


@pytest.fixture(scope="module")
def plans():
    own = remat_bb.Instance("zoo:resnet18?batch=16")
    return [remat_bb.solve(own, budget=budget, time_limit=1) for budget in ("80%", "90%")]


def data_of(page):
    return json.loads(page.split('id="data">')[1].split("</script>")[0])


def test_a_page_is_text_or_a_file(plans, tmp_path):
    page = plans[0].to_html()
    assert plans[0].to_html(tmp_path / "plan.html") is None
    assert (tmp_path / "plan.html").read_text() == page
    data = data_of(plans[0].to_html(others=plans[1:]))
    shown = data["subjects"][0]["plans"]
    assert [plan["peak_bytes"] for plan in shown[:2]] == [p.peak_memory_bytes for p in plans]
    assert [plan["bound"]["cost"] for plan in shown[:2]] == [p.bound for p in plans]
    assert shown[2]["is_plain"]
    other = remat_bb.solve("zoo:chain?n=4", budget="100%", time_limit=1)
    with pytest.raises(remat_bb.errors.InvalidArgument, match="one instance"):
        plans[0].to_html(others=[other])


def with_prices_and_evil_names(page):
    """The page with prices of memory, and a name that looks like markup."""
    head, rest = page.split('id="data">')
    data, tail = rest.split("</script>", 1)
    data = json.loads(data)
    subject = data["subjects"][0]
    subject["graphs"][0]["names"][0] = EVIL
    subject["plans"][0]["prices"] = [[0, 3, 0.0], [3, 60, 2e-3], [60, 90, 5e-4]]
    data["findings"]["searches"] = [
        {
            "name": "solve.log",
            "unit": "%",
            "looks": [[0.5, None, 2.0], [1.5, 8.0, 5.0], [2.5, 7.0, 6.0]],
        }
    ]
    text = json.dumps(data).replace("<", "\\u003c")
    return f'{head}id="data">{text}</script>{tail}'


def test_a_page_opens_and_obeys_the_pointer_and_keys(plans, tmp_path):
    if reason := missing():
        pytest.skip(reason)
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    browser = chromium(tmp_path / "profile")

    def text(name):
        return browser.find_element(By.ID, name).text

    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()

    def soon(name, *words):
        """Waits until an element has all words: the page draws once in a frame."""
        waiting = WebDriverWait(browser, 10, poll_frequency=0.02)
        waiting.until(lambda _: all(word in text(name) for word in words), f"{name}: {words}")

    page = tmp_path / "plan.html"
    page.write_text(with_prices_and_evil_names(plans[0].to_html(others=plans[1:])))
    try:
        browser.get(page.as_uri())
        assert browser.find_element(By.TAG_NAME, "html").get_attribute("data-ready")
        peak = plans[0].peak_at
        assert peak in text("inspector") and peak in text("answers")
        assert "marginal rate" in text("answers")
        assert browser.find_element(By.ID, "searches").is_displayed()
        # Names stay text.
        assert browser.execute_script("return window.hurt === undefined && !document.images.length")
        press(Keys.HOME)
        soon("inspector", EVIL, "step 0 of")
        press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        soon("inspector", "step 2 of")
        press("n")
        soon("inspector", "Why is it computed again?")
        press("p")
        soon("inspector", peak)
        # The pointer selects the moment under it.
        canvas = browser.find_element(By.ID, "stack")
        ActionChains(browser).move_to_element_with_offset(canvas, 200, 0).click().perform()
        waiting = WebDriverWait(browser, 10)
        waiting.until(lambda _: f"{peak}\n" not in text("inspector"))
        # Another plan, another theme, the list of keys, the search.
        before = text("cards")
        press("]")
        assert text("cards") != before
        press("t")
        dark = browser.execute_script("return document.documentElement.dataset.theme")
        assert dark in ("dark", "light")
        press("?")
        assert browser.execute_script("return document.getElementById('help').open")
        press(Keys.ESCAPE)
        press("/", "conv1")
        assert 0 < int(text("found").split()[0]) < 137
        browser.find_element(By.CSS_SELECTOR, "#step-list [data-row='0']").click()
        soon("inspector", "conv1")
        errors = [line for line in browser.get_log("browser") if line["level"] != "DEBUG"]
        assert errors == []
    finally:
        browser.quit()
