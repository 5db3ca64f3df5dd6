import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

from dcd.runtime.templates import template_environment


def render(source, **values):
    return template_environment("graph/drawing").from_string(source).render(values)


def test_text_is_escaped_and_markup_is_not():
    assert render("<p>{{ a }}{{ b }}</p>", a="<b>&", b=Markup("<i>")) == "<p>&lt;b&gt;&amp;<i></p>"
    assert render("{{ values|attributes }}", values={"class": "a\"b'", "id": None, "x": 1.0}) == (
        ' class="a&#34;b&#39;" x="1"'
    )


def test_invisible_characters_are_shown_wherever_text_goes():
    assert render("{{ a }}<p{{ {'title': a}|attributes }}>", a="a\u202eb\0") == (
        'a\ufffdb\ufffd<p title="a\ufffdb\ufffd">'
    )


def test_a_value_that_is_missing_is_an_error():
    with pytest.raises(UndefinedError):
        render("{{ a }}")
