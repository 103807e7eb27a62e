"""Is a sentence in the language it should be in? Letters first, then small words.

Translators leave messages untranslated, or half of them, and some catalogs hold another
language than their folder says. Japanese and Vietnamese show it by their letters; in
German and Romanian the small words decide, against those of English.
"""

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

WORD = re.compile(r"[^\W\d_]+")
JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff々ー]")
KANA = re.compile(r"[\u3041-\u30ff]")
# Every Vietnamese letter that ASCII has not; nearly every word has one.
MARKED = re.compile(
    r"[ăâđêôơưàáảãạằắẳẵặầấẩẫậèéẻẽẹềếểễệìíỉĩịòóỏõọồốổỗộờớởỡợùúủũụừứửữựỳýỷỹỵ]",
    re.IGNORECASE,
)

# Small words that the other language does not have (so "in", "an", "was", "die" and
# "care" are in neither list).
SMALL = {
    "en": """the of and to is are not be for with from this that by on it as has have
    cannot or if when which should must can no does only into than been will your you
    all use used using file does could failed invalid missing unable unknown too before
    after because while at its there these those were would""",
    "de": """der das und ist nicht ein eine einer eines einem einen den dem des für mit
    von zu auf wird werden kann sind oder wenn kein keine keinen keiner bei aus nach als
    auch durch nur über sie ihr ihre dieser diese dieses wurde wurden konnte muss sich
    zum zur im beim vom ungültige ungültiger ungültiges fehler datei unbekannte
    unbekannter unbekanntes noch wie es ich er soll darf haben hat sein zwischen um ohne
    dass daß mehr anzeigen verwenden bis""",
    "ro": """și sau nu este sunt pentru cu din de la un o în pe că al ale ai ca prin fi
    fost dacă această acest acestui acestei care când după fără mai trebuie poate pot
    fișierul fișier lipsește necunoscut nevalid eroare numai doar către să se va au
    unui unei cel cea cele cei toate toți tot între sub peste ce""",
}
LETTERS = {"de": re.compile(r"[äöüßÄÖÜ]"), "ro": re.compile(r"[ăâîșțĂÂÎȘȚ]")}
_SMALL = {language: frozenset(words.split()) for language, words in SMALL.items()}


def _count(words: Collection[str], language: str) -> int:
    return sum(word in _SMALL[language] for word in words)


def _is_japanese(text: str, _: Collection[str]) -> bool:
    n_letters = sum(map(len, WORD.findall(text)))
    return bool(KANA.search(text)) and len(JAPANESE.findall(text)) >= 0.3 * n_letters


def _is_vietnamese(text: str, _: Collection[str]) -> bool:
    words = WORD.findall(text)
    marked = sum(bool(MARKED.search(word)) for word in words)
    return marked >= 2 and marked >= 0.25 * len(words)


def _by_small_words(language: str) -> Callable[[str, Collection[str]], bool]:
    letters = LETTERS[language]

    def is_it(text: str, english: Collection[str]) -> bool:
        words = WORD.findall(text.lower())
        ours = _count(words, language) + sum(bool(letters.search(w)) for w in words)
        same = sum(word in english for word in words)
        if ours <= _count(words, "en"):
            # No sign of either: then at least not the English words once more.
            return _count(words, "en") == 0 and same <= 0.4 * len(words)
        return same <= 0.6 * len(words)

    return is_it


class Language(NamedTuple):
    """What a sentence of it must be like.

    is_it     is this text in it, given the words of the English side?
    ratio     characters of English for one of its own, at least and at most
    characters_per_word   where words are not separated; else None
    """

    is_it: Callable[[str, Collection[str]], bool]
    ratio: tuple[float, float]
    characters_per_word: float | None = None


LANGUAGES = {
    "de": Language(_by_small_words("de"), (0.4, 2.2)),
    "ro": Language(_by_small_words("ro"), (0.4, 2.2)),
    "vi": Language(_is_vietnamese, (0.4, 2.2)),
    # four words of English are about ten characters of Japanese
    "ja": Language(_is_japanese, (0.8, 5.0), 2.0),
}
