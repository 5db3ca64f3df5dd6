from dcd.runtime.text import isolated, shortened, visible, with_names_isolated


def test_what_cannot_be_seen_is_shown():
    assert visible("a\u0000b\u202ec\ud800") == "a\ufffdb\ufffdc\ufffd"
    joined = "👩\u200d👧 \u0645\u06cc\u200c\u062e\n"
    assert visible(joined) == joined


def test_long_labels_are_cut_by_width():
    assert shortened("n" * 40, 10) == "n" * 9 + "…"
    assert len(shortened("漢" * 40, 10)) == 5
    assert shortened("short", 10) == "short"


def test_names_written_from_right_to_left_are_isolated_and_others_left_alone():
    word, longer = "\u05d0\u05d1", "\u05d0\u05d1\u05d2"
    assert isolated("a (1)") == "a (1)"
    assert isolated(word) == f"\u200e{word}\u200e"
    text = with_names_isolated(f"{longer} → a ← {word}", [word, "a", longer])
    assert text == f"\u200e{longer}\u200e → a ← \u200e{word}\u200e"
    assert visible(text) == text
