"""Messages become sentences; what is no sentence goes."""

import pytest

from acprop.tasks.data.bitext.cleaning import plain, sentences

PLAIN = [
    ("  two\n   lines \t and a\u00a0blank ", "two lines and a blank"),
    ("<b>bold</b> and <a href='x'>a link</a><br/>", "bold and a link"),
    ("read <file> and print it", "read <file> and print it"),  # no tag of HTML
    ("this &amp; that &lt;x&gt;", "this & that <x>"),
    ("&Copy the ~file, Sa&ve it, R&D", "Copy the file, Save it, R&D"),
    ("%s, %1$s, %-10s, %(name)s, %qE, %pB", "%s, %s, %s, %s, '%s', %s"),
    ("%d, %lu, %5.2f, %<PRIu64>, %'d, %zu", "%d, %d, %d, %d, %d, %d"),
    ("%<int%> isn%'t 100%% of 5% here", "'int' isn't 100% of 5% here"),
    ("%1 of %2 in $name$ and %COLUMN", "%s of %s in %s and %s"),
    ("„so“ »oder« `so' … – ’", '"so" "oder" \'so\' ... - \''),
    ('khoá " %s " hỏng', 'khoá "%s" hỏng'),
    ("soft\u00adhyphen", "softhyphen"),
    ("Fişierul ţintă", "Fișierul țintă"),
]


@pytest.mark.parametrize(("text", "expected"), PLAIN)
def test_a_message_becomes_one_line_of_running_text(text, expected):
    assert plain(text, "de") == expected


def test_japanese_has_one_form_for_each_letter():
    assert plain("ﾌｧｲﾙ　ＡＢＣ（１）！", "ja") == "ファイル ABC(1)!"


EN, DE = "the file could not be opened", "die Datei konnte nicht geöffnet werden"
KEPT = [
    # English, other, language, what is kept of each
    (f"{EN}\n", f"{DE}\n", "de", [(EN, DE)]),
    ("_Open the file now", "Da_tei jetzt öffnen oder nicht", "de",
     [("Open the file now", "Datei jetzt öffnen oder nicht")]),
    ("the name is file_name here", "der Name ist file_name hier", "de",
     [("the name is file_name here", "der Name ist file_name hier")]),
    ("_Open the new file", "新しいファイルを開きます(_O)", "ja",
     [("Open the new file", "新しいファイルを開きます")]),
    (f"first of all\n\n{EN}", f"zuerst\n\n{DE}", "de", [(EN, DE)]),
    (f"{EN}\n\nmore of it", DE, "de", []),  # parts do not meet
    (f"  -f, --file <file>   {EN}\n", f"  -f, --file <Datei>  {DE}\n", "de",
     [(EN, DE)]),
    (f" -a, --all  {EN}\n -b  {EN} now\n", f" -a, --all  {DE}\n -b  {DE} jetzt\n", "de",
     [(EN, DE), (f"{EN} now", f"{DE} jetzt")]),
]  # fmt: skip


@pytest.mark.parametrize(("english", "other", "language", "kept"), KEPT)
def test_what_both_sides_have_is_kept(english, other, language, kept):
    assert list(sentences(english, other, language)) == kept


UNFIT = {
    "untranslated": (EN, EN, "de"),
    "only the case differs": (EN, EN.upper(), "de"),
    "half translated": (EN, "Fehler: the file could not be opened", "de"),
    "too short": ("open the file", "die Datei wird jetzt geöffnet", "de"),
    "too long": (" ".join([EN] * 11), " ".join([DE] * 11), "de"),
    "unlike lengths": (f"{EN} {EN} {EN}", DE, "de"),
    "a format too few": (f"{EN}: %s", DE, "de"),
    "another format": (f"{EN}: %s", f"{DE}: %d", "de"),
    "a sentence left in English": (
        "Wrap the text on all sides. Use this icon.",
        "Wrap the text on all sides. このアイコンは折り返しに使います。",
        "ja",
    ),
    "how to call it": (
        "%s [options] <the file> [now]",
        "%s [Optionen] <die Datei>",
        "de",
    ),
    "hardly a letter": ("0x%x 0x%x -> [%d] = { of it }", "0x%x 0x%x -> [%d] = {", "de"),
    "another language": (f"{EN} here", DE, "ja"),
    "numbers": ("1024 / 768 = 4 : 3 in it", "1024 / 768 = 4 : 3 ist es", "de"),
    "the other side is none": (EN, "", "de"),
    "English is no English": (DE, f"{DE} hier", "de"),
    "a Japanese English": (
        "ファイル of the new kind",
        "新しい種類のファイルです",
        "ja",
    ),
}


@pytest.mark.parametrize(
    ("english", "other", "language"), UNFIT.values(), ids=UNFIT.keys()
)
def test_what_teaches_nothing_is_left_out(english, other, language):
    assert list(sentences(english, other, language)) == []
