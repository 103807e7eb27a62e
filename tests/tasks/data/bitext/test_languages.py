"""Each language is told from English, and from what is left untranslated."""

import pytest

from acprop.tasks.data.bitext.languages import LANGUAGES, SMALL

YES = [
    ("de", "Die Datei kann nicht geöffnet werden"),
    ("de", "Unbekannte Option angegeben"),
    ("de", "Passwort falsch eingegeben, Abbruch folgt"),  # no small word, no umlaut
    ("ro", "Nu se poate deschide fișierul"),
    ("ro", "Eroare la citirea datelor"),
    ("vi", "không thể mở tập tin này"),
    ("vi", "union không có thành viên nào"),
    ("ja", "ファイルを開けません"),
    ("ja", "XML の CPU エラーです"),
]
NO = [
    ("de", "the file cannot be opened"),
    ("de", "internal error: no endianness specified"),
    ("ro", "the file cannot be opened"),
    ("vi", "the file cannot be opened"),
    ("vi", "die Datei kann nicht geöffnet werden"),
    ("ja", "the file cannot be opened"),
    ("ja", "文件无法打开"),  # Chinese has no kana
]
ENGLISH = {"the", "file", "cannot", "be", "opened", "internal", "error", "option"}


@pytest.mark.parametrize(("language", "text"), YES)
def test_a_sentence_is_known_in_its_language(language, text):
    assert LANGUAGES[language].is_it(text, ENGLISH)


@pytest.mark.parametrize(("language", "text"), NO)
def test_a_sentence_of_another_language_is_not(language, text):
    assert not LANGUAGES[language].is_it(text, ENGLISH | set(text.split()))


def test_no_small_word_speaks_for_two_languages():
    words = {language: set(text.split()) for language, text in SMALL.items()}
    assert not words["en"] & words["de"]
    assert not words["en"] & words["ro"]
