"""From a message as a programmer wrote it to a sentence, or to nothing.

A message has tags, keys that open a menu (_File, &File, ~File), formats (%1$s, %qE),
quotes of several schools and lines that were broken by hand. All of that is undone in
the same way on both sides; a pair whose formats then disagree is none. A rule is here
if the pairs of ten packages change without it.
"""

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator

from acprop.tasks.data.bitext.catalogs import Pair
from acprop.tasks.data.bitext.languages import LANGUAGES, WORD

SHORTEST, LONGEST = 4, 60  # words
LEAST_LETTERS = 0.6  # of the characters that are not blank
MOST_BRACKETS = 0.1  # "%s [options] <file>" is no sentence
RUN = 5  # so many words one after another are no coincidence

TAGS = (
    "a b big br code div em font h[1-6] i img kbd li ol p pre s small span strong sub "
    "sup td th tr tt u ul"
).replace(" ", "|")
TAG = re.compile(rf"</?(?:{TAGS})(?:\s[^<>]*)?/?>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:#\d+|#x[0-9a-fA-F]+|[A-Za-z]+);")
# A new thing begins after an empty line, and with an option or an item of a list.
BREAK = re.compile(r"\n[ \t]*(?:\n\s*|(?=-{1,2}\w|[*•] ))")
# "-f, --file <file>   " before its explanation
OPTION = re.compile(r"^\s*-[^\n]*?(?:\t|\s{2,}|\n\s*)(?=\S)")

LETTER = r"[^\W\d_]"
# (_F), (&F), （~F）: the key of a menu where the script has no such letter
KEY_IN_BRACKETS = re.compile(r"\s*[(（][_&~][A-Za-z0-9][)）]")
KEY = re.compile(rf"(?<!\w)[&~](?={LETTER})|(?<={LETTER})[&~](?=[a-zß-ÿ])")
UNDERSCORED = re.compile(r"\w*_\w*")
BLANKS_IN_QUOTES = re.compile(r'(?<=") (%[sd]|#) (?=")')

VARIABLE = re.compile(
    r"%\([A-Za-z_]\w*\)[sdif]|%[A-Z][A-Z_0-9]{2,}%?|\$\w+\$|\$\(\w+\)"
)
# gcc's %<, %> and %'; but %<PRIu64> and %'d are formats
GCC_QUOTE = re.compile(r"%<(?!PRI\w+>)|%>|%'(?![\d.]*[hljz]*[diufg]\b)")
FORMAT = re.compile(
    r"(?<!\d)%(?:\d+\$)?q?[-+#0']*(?:\d+|\*)?(?:\.(?:\d+|\*))?"
    r"(?:(?:I64|hh|h|ll|l|L|q|j|z|Z|t|w)?(?P<kind>p[A-Z]|[A-Za-z])|<PRI\w+>)"
)
POSITION = re.compile(r"(?<!\d)%[1-9]\b(?!\$)")  # Qt's %1
NUMBERS = "diouxXfFeEgG"
PLACE = re.compile(r"%[sd]")

MARKS = str.maketrans(
    {
        **dict.fromkeys("„“”‟«»″", '"'),
        **dict.fromkeys("‘’‚‛‹›´`′", "'"),
        **dict.fromkeys("‐‑–—―−", "-"),
        **dict.fromkeys("\u00a0\u202f\u2009\u3000", " "),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"),
        "…": "...",
        # what Romanian keyboards wrote for the letters they lacked
        "ş": "ș",
        "ţ": "ț",
        "Ş": "Ș",
        "Ţ": "Ț",
    }
)
BRACKET = re.compile(r"[\[\]<>{}|\\]")


def sentences(english: str, other: str, language: str) -> Iterator[Pair]:
    """(English, other) of each part of the message that is fit to learn from."""
    ours, theirs = BREAK.split(english.strip()), BREAK.split(other.strip())
    if len(ours) != len(theirs):
        return
    for a, b in zip(ours, theirs, strict=True):
        if OPTION.match(a) and OPTION.match(b):
            a, b = OPTION.sub("", a), OPTION.sub("", b)
        a, b = _without_key(a, b), _without_key(b, a)
        pair = plain(a, "en"), plain(b, language)
        if is_fit(*pair, language):
            yield pair


def _without_key(text: str, other: str) -> str:
    """Da_ten is a key of a menu, file_name is not: the other side has it too."""
    text = KEY_IN_BRACKETS.sub("", text)
    found = UNDERSCORED.findall(text)
    is_key = len(found) == 1 and found[0] not in other
    return text.replace("_", "") if is_key else text


def plain(text: str, language: str) -> str:
    """One line of running text; formats become %s and %d."""
    text = ENTITY.sub(lambda found: html.unescape(found.group()), TAG.sub("", text))
    # Full-width letters and half-width kana: one form for each
    text = unicodedata.normalize("NFKC" if language == "ja" else "NFC", text)
    text = _without_formats(text)
    text = KEY.sub("", text).translate(MARKS)
    # An apostrophe twice is a quote in some catalogs, and nothing in others.
    text = text.replace("''", '"')
    return BLANKS_IN_QUOTES.sub(r"\1", " ".join(text.split()))


def _without_formats(text: str) -> str:
    text = GCC_QUOTE.sub("'", text).replace("%%", "\0")
    text = VARIABLE.sub("%s", text)
    text = POSITION.sub("%s", FORMAT.sub(_place, text))
    return text.replace("\0", "%")


def _place(found: re.Match[str]) -> str:
    if "q" in found.group():  # gcc's %qE: in quotes, and no number
        return "'%s'"
    kind = found.group("kind")
    return "%d" if kind is None or kind in NUMBERS else "%s"


def n_words(text: str, language: str) -> float:
    """Words, or what comes to the same in a script that writes none."""
    per_word = LANGUAGES[language].characters_per_word if language != "en" else None
    if per_word is not None:
        return sum(map(len, WORD.findall(PLACE.sub("", text)))) / per_word
    return sum(any(map(str.isalnum, word)) for word in text.split())


def is_fit(english: str, other: str, language: str) -> bool:
    """Is this a pair of sentences, one the translation of the other?

    A message that was left as it is fails by its language.
    """
    low, high = LANGUAGES[language].ratio
    words = set(WORD.findall(english.lower()))
    return (
        all(
            SHORTEST <= n_words(text, name) <= LONGEST
            for text, name in ((english, "en"), (other, language))
        )
        and low <= len(english) / len(other) <= high
        and not any(map(_is_syntax, (english, other)))
        and not _is_half_translated(english, other)
        and Counter(PLACE.findall(english)) == Counter(PLACE.findall(other))
        and all(word.isascii() for word in words)
        and LANGUAGES[language].is_it(other, words)
    )


def _is_syntax(text: str) -> bool:
    """How a command is called, a table, a formula: few letters, many brackets."""
    text = PLACE.sub("", text)
    visible = max(len("".join(text.split())), 1)
    few = sum(map(len, WORD.findall(text))) < LEAST_LETTERS * visible
    many = len(BRACKET.findall(text)) > MOST_BRACKETS * visible
    return few or many


def _is_half_translated(english: str, other: str) -> bool:
    """Does the other side say several English words in the same order?"""
    ours, theirs = (WORD.findall(text.lower()) for text in (english, other))
    runs = {tuple(ours[i : i + RUN]) for i in range(len(ours) - RUN + 1)}
    return any(tuple(theirs[i : i + RUN]) in runs for i in range(len(theirs) - RUN + 1))
