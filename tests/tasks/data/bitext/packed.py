"""Catalogs and Debian packages in small, as their tools write them."""

import shutil
import struct
import subprocess

import pytest

from acprop.tasks.data.sets import Dataset, File

HEADER = "Content-Type: text/plain; charset={}\n"


def mo(messages, *, charset="utf-8", order="<"):
    """A .mo file; a message is text, or a tuple of plural forms."""
    messages = {"": HEADER.format(charset), **messages}
    keys = sorted((_forms(k), _forms(v)) for k, v in messages.items())
    pairs = [(k.encode(charset), v.encode(charset)) for k, v in keys]
    n, begin = len(pairs), 28 + 16 * len(pairs)
    tables, strings = [[], []], b""
    for side in (0, 1):
        for pair in pairs:
            at = begin + len(strings)
            tables[side].append(struct.pack(f"{order}2I", len(pair[side]), at))
            strings += pair[side] + b"\0"
    head = struct.pack(f"{order}7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
    return head + b"".join(tables[0] + tables[1]) + strings


def _forms(text):
    return text if isinstance(text, str) else "\0".join(text)


def deb(folder, name, files, version="1.0"):
    """A Debian package that holds these files; the test is skipped without dpkg-deb."""
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    root = folder / f"root-{name}"
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\n"
    control += "Maintainer: Nobody <nobody@example.org>\nDescription: a test\n"
    for path, content in {"DEBIAN/control": control.encode(), **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
    path = folder / f"{name}_{version.replace(':', '%3a')}_all.deb"
    command = ["dpkg-deb", "--root-owner-group", "-b", str(root), str(path)]
    subprocess.run(command, check=True, capture_output=True)
    shutil.rmtree(root)
    return path


def german(i):
    """A pair of messages of its own for each i, letters only."""
    word = "".join(chr(ord("a") + int(digit)) for digit in str(i))
    return (
        f"the file of {word} cannot be opened",
        f"die Datei von {word} kann nicht geöffnet werden",
    )


def catalog(n, begin=0):
    return mo(dict(german(i) for i in range(begin, begin + n)))


def harvested(*names):
    """A set that is harvested from these Debian packages."""
    return Dataset(
        name="words",
        title="words",
        form="pairs",
        files=tuple(File(f"{part}.tsv") for part in ("train", "val", "test")),
        languages=("de", "en"),
        packages=names,
    )


DE = "usr/share/locale/de/LC_MESSAGES"
