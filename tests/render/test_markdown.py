"""The Markdown that rules' pages are written in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pallas_magic.render.markdown import page_html
from tests.render.test_html import Reader


@pytest.mark.parametrize(
    ("markdown", "html"),
    [
        ("", ""),
        ("text", "<p>text</p>"),
        ("two\nlines\n\nnext", "<p>two lines</p>\n<p>next</p>"),
        ("# One\n## Two ##", "<h4>One</h4>\n<h5>Two</h5>"),
        ("###### Six", "<h6>Six</h6>"),
        ("#no heading", "<p>#no heading</p>"),
        (
            "```python\na < b\n\n  c\n```\nend",
            "<pre><code>a &lt; b\n\n  c</code></pre>\n<p>end</p>",
        ),
        ("```\nopen", "<pre><code>open</code></pre>"),
        ("````\n```\n````", "<pre><code>```</code></pre>"),
        ("    code\n\n    more\n\nend", "<pre><code>code\n\nmore</code></pre>\n<p>end</p>"),
        ("- a\n- b\n  goes on\n\nend", "<ul><li>a</li><li>b goes on</li></ul>\n<p>end</p>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("text\n- a", "<p>text</p>\n<ul><li>a</li></ul>"),
        ("a `b < c` d", "<p>a <code>b &lt; c</code> d</p>"),
        ("``a`b``", "<p><code>a`b</code></p>"),
        ("**bold `code`**", "<p><b>bold <code>code</code></b></p>"),
        ("a ` alone", "<p>a ` alone</p>"),
        (
            "[a `b`](https://x.org/?a=1&b=2)",
            (
                '<p><a href="https://x.org/?a=1&amp;b=2" rel="noopener noreferrer">'
                "a <code>b</code></a></p>"
            ),
        ),
        (
            "<https://x.org/>",
            '<p><a href="https://x.org/" rel="noopener noreferrer">https://x.org/</a></p>',
        ),
        ("[a](javascript:alert)", "<p>[a](javascript:alert)</p>"),
        ('[a](https://x"onclick=b)', None),
        ("<b onclick=a>", "<p>&lt;b onclick=a&gt;</p>"),
        ("`<script>`", "<p><code>&lt;script&gt;</code></p>"),
    ],
)
def test_page(markdown: str, html: str | None) -> None:
    found = page_html(markdown)
    if html is not None:
        assert found == html
    for _, attributes in Reader(found).elements:
        assert set(attributes) <= {"href", "rel"}


@given(st.text(alphabet="#`~-*1. \n\ta<>[]()\"'&:/h"))
def test_any_text_is_well_formed(markdown: str) -> None:
    read = Reader(page_html(markdown))
    assert {tag for tag, _ in read.elements} <= {
        *("h4", "h5", "h6", "p", "pre", "code", "b", "a", "ul", "ol", "li")
    }
