#!/usr/bin/env python3
"""Opens HTML reports in a real browser, headless, and uses them by keyboard.

    scripts/check_html.py PAGE.html...                      checks
    scripts/check_html.py --screenshot OUT.png [--size 1280x900] [--at ID] [--dark] PAGE.html

A page must load without network within --seconds (3), print nothing on the console, be reached by
the Tab key and, in its map, by arrow keys; its stages open by Enter. Where no Chromium is installed
(Debian: apt-get install chromium) nothing is checked, which is said, and the exit code is 77.

The browser is spoken to through pipes (the DevTools protocol): nothing but Python is needed.
"""
import argparse
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--remote-debugging-pipe")
KEYS = {"Tab": 9, "Enter": 13, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38,
        "ArrowRight": 39, "ArrowDown": 40}
# What of the page is focused: "td 3,4" is a cell of the map, "summary of stage" a stage.
FOCUSED = """(() => {
  const e = document.activeElement;
  if (e.tagName === "TD") return `td ${e.parentNode.rowIndex},${e.cellIndex}`;
  if (e.tagName === "SUMMARY") return `summary of ${e.parentNode.className}`;
  return e.tagName.toLowerCase() + (e.id ? " " + e.id : "");
})()"""


class Browser:
    """One page of a browser."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(prefix="planproof-html-")
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        # The browser reads from 3 and writes to 4.
        command = (f'exec "$0" "$@" 3<&{read_there} 4>&{write_there}')
        self.process = subprocess.Popen(
            ["bash", "-c", command, program, *FLAGS, f"--user-data-dir={self.profile.name}"],
            pass_fds=(read_there, write_there), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(read_there)
        os.close(write_there)
        self.read_end, self.write_end = read_here, write_here
        self.buffer, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(0, deadline - time.time()))
            if not ready:
                raise TimeoutError("the browser does not answer")
            got = os.read(self.read_end, 1 << 20)
            if not got:
                raise RuntimeError("the browser ended")
            self.buffer += got
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write_end, json.dumps(request).encode() + b"\0")
        deadline = time.time() + 60
        while True:
            message = self.message(deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        deadline = time.time() + 60
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            message = self.message(deadline)
            if "method" in message:
                self.events.append(message)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=KEYS[key],
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def complaints(self):
        """Console output, errors, and requests for anything but the page."""
        found = []
        for event in self.events:
            method, content = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("error: " + json.dumps(content["exceptionDetails"])[:300])
            elif method == "Runtime.consoleAPICalled":
                found.append("console: " + json.dumps(content["args"])[:300])
            elif method == "Log.entryAdded":
                found.append("log: " + content["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                url = content["request"]["url"]
                if not url.startswith("data:") and content.get("type") != "Document":
                    found.append("request: " + url)
        return found

    def close(self):
        try:
            self.session = None
            self.call("Browser.close")
        except (OSError, RuntimeError, TimeoutError):
            pass
        self.process.wait(timeout=30)
        os.close(self.read_end)
        os.close(self.write_end)
        self.profile.cleanup()


def tab_to(browser, wanted, most=400):
    """Presses Tab until the focus is on something that begins with `wanted`."""
    for _ in range(most):
        browser.press("Tab")
        if browser.value(FOCUSED).startswith(wanted):
            return True
    return False


def check_keyboard(browser):
    wrong = []
    has = lambda selector: browser.value(f"!!document.querySelector('{selector}')")
    if has("#grid td"):
        if not tab_to(browser, "td "):
            return ["the Tab key does not reach the map"]
        browser.press("Home")
        first = browser.value(FOCUSED)
        browser.press("ArrowRight")
        second = browser.value(FOCUSED)
        single = browser.value("document.querySelectorAll('#grid thead th').length === 2")
        if first == second and not single:
            wrong.append(f"the arrow key does not move from {first}")
        browser.press("ArrowDown")
        if browser.value("document.getElementById('cell').hidden"):
            wrong.append("a cell of the map is not explained")
        if not browser.value("getComputedStyle(document.activeElement).outlineStyle !== 'none'"):
            wrong.append("the focus is not to be seen in the map")
    if has("#list details"):
        if not tab_to(browser, "summary of stage"):
            return wrong + ["the Tab key does not reach the stages"]
        browser.press("Enter")
        if not browser.value("document.activeElement.parentNode.open"):
            wrong.append("Enter does not open a stage")
    return wrong


def check(browser, page, seconds):
    browser.open("file://" + os.path.abspath(page))
    loaded = browser.value("(() => { const t = performance.getEntriesByType('navigation')[0];"
                           " return (t.loadEventEnd || t.duration) / 1000; })()")
    wrong = check_keyboard(browser)
    if loaded > seconds:
        wrong.append(f"took {loaded:.2f} s to open, more than {seconds}")
    # Names from plans have made no element that runs or loads something.
    made = browser.value("document.querySelectorAll('img, iframe, object, embed, link[rel=stylesheet],"
                         " script[src], [onerror], [onload], [onclick]').length")
    if made:
        wrong.append(f"{made} elements that load or run something")
    if browser.value("document.querySelectorAll('script').length") != 2:
        wrong.append("there are other scripts than the page's own")
    wrong += browser.complaints()
    size = os.path.getsize(page) / 1e6
    print(f"{page}: {size:.2f} MB, opened in {loaded:.2f} s: " + ("ok" if not wrong else "WRONG"))
    for text in wrong:
        print("  " + text)
    return not wrong


def screenshot(browser, page, options):
    width, height = map(int, options.size.split("x"))
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=False)
    if options.dark:
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.open("file://" + os.path.abspath(page))
    if options.at:
        browser.value(f"document.getElementById({json.dumps(options.at)}).scrollIntoView()")
    if options.run:
        browser.value(options.run)
    time.sleep(0.3)
    image = browser.call("Page.captureScreenshot", format="png")["data"]
    with open(options.screenshot, "wb") as file:
        file.write(base64.b64decode(image))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--screenshot")
    parser.add_argument("--size", default="1280x900")
    parser.add_argument("--at", help="the element to scroll to")
    parser.add_argument("--run", help="a script before the screenshot")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    program = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if program is None:
        print("html: skipped, no Chromium is installed")
        return 77
    browser = Browser(program)
    try:
        if options.screenshot:
            screenshot(browser, options.pages[0], options)
            return 0
        return 0 if all([check(browser, page, options.seconds) for page in options.pages]) else 1
    finally:
        browser.close()


if __name__ == "__main__":
    sys.exit(main())
