import base64
import hashlib
import html
import re

import numpy as np
import pandas as pd
from support.made_results import HOSTILE

import dcd


def hostile_page():
    values = np.random.default_rng(0).standard_normal((40, len(HOSTILE)))
    table = pd.DataFrame(values, columns=list(HOSTILE))
    table[HOSTILE[0]] = 1.0
    return dcd.audit(table).to_html(HOSTILE[0])


def test_names_and_title_are_text():
    page = hostile_page()
    assert "<script" not in page
    assert "<img" not in page
    assert "<h1>Audit of &lt;script&gt;" in page
    assert page.count("<tr>") == 1 + len(HOSTILE)
    assert "a\ufffdb\ufffdc" in page
    page.encode("utf-8")


def test_the_policy_allows_the_one_style_by_its_hash_and_nothing_else():
    page = hostile_page()
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert html.unescape(policy) == f"default-src 'none'; style-src 'sha256-{digest}'"
