"""One bar for everything that is long."""

from acprop.progress import Bar


def test_a_bar_says_what_is_done_and_what_share(terminal):
    with Bar("begin", 4) as bar:
        bar.show("claims")
        bar.advance()
        bar.advance(2)
    assert "claims" in terminal.getvalue()
    assert "75%" in terminal.getvalue()


def test_shares_of_several_things_add_up_and_never_fall(terminal):
    with Bar("runs", 10) as bar:
        bar.share("a", 0.5, weight=8)
        bar.share("b", 1.0, weight=2)
        bar.share("a", 0.25, weight=8)  # an old report that comes late
    assert terminal.getvalue().count("60%")
    assert "40%" not in terminal.getvalue().split("60%")[-1]


def test_a_quiet_bar_shows_nothing(terminal):
    with Bar("claims", 4, quiet=True) as bar:
        bar.advance()
    assert terminal.getvalue() == ""
