"""gettext catalogs (.mo): English messages and what translators made of them.

The file is two tables of (length, offset), one of the messages and one of their
translations, in the byte order that its first four bytes tell. A message may begin with
a context, which ends in EOT; its plural forms are separated by NUL.
"""

import re
import struct
from collections.abc import Iterator

from acprop.tasks.data.sets import DataError

Pair = tuple[str, str]

MAGIC = {b"\xde\x12\x04\x95": "<", b"\x95\x04\x12\xde": ">"}
CONTEXT_ENDS = "\x04"
CHARSET = re.compile(rb"charset=([\w.:-]+)", re.IGNORECASE)


def read_catalog(content: bytes) -> Iterator[Pair]:
    """(English, translation) of every message that has one, in the file's order."""
    order = MAGIC.get(content[:4])
    if order is None:
        raise DataError(f"a catalog must begin with its magic, got {content[:4]!r}")
    try:
        entries = list(_entries(content, order))
    except struct.error as error:
        raise DataError(
            f"a catalog must be whole, got a broken one ({error})"
        ) from None
    header = next((text for message, text in entries if not message), b"")
    found = CHARSET.search(header)
    charset = found.group(1).decode("ascii") if found else "utf-8"
    for message, text in entries:
        if message and text:
            yield from _decoded(message, text, charset)


def _entries(content: bytes, order: str) -> Iterator[tuple[bytes, bytes]]:
    n, messages, texts = struct.unpack_from(f"{order}3I", content, 8)
    for i in range(n):
        yield (
            _string(content, order, messages + 8 * i),
            _string(content, order, texts + 8 * i),
        )


def _string(content: bytes, order: str, row: int) -> bytes:
    length, begin = struct.unpack_from(f"{order}2I", content, row)
    if begin + length > len(content):
        raise struct.error(f"a string ends at {begin + length} of {len(content)} bytes")
    return content[begin : begin + length]


def _decoded(message: bytes, text: bytes, charset: str) -> Iterator[Pair]:
    """One pair, or two where the message has a plural; none that cannot be read."""
    try:
        english = message.decode(charset).rpartition(CONTEXT_ENDS)[2].split("\0")
        forms = text.decode(charset).split("\0")
    except (UnicodeDecodeError, LookupError):
        return
    if len(english) == 1:
        yield english[0], forms[0]
        return
    # A language without plural forms translates the plural. One with three, as
    # Romanian, has the form for 2 in the second place.
    if len(forms) > 1:
        yield english[0], forms[0]
    yield english[1], forms[min(1, len(forms) - 1)]
