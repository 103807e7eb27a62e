"""TED talks in exactly the formats of their archives, a few sentences each."""

import gzip
import io
import tarfile
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from acprop.tasks.data import DataError, fetch, sets, source_of, verify
from acprop.tasks.data.corpora import load_corpus
from acprop.tasks.data.sets import describe

from ..tiny import hidden, sha256, tgz

N = 50
WORDS = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
]


def number(i):
    return " ".join(WORDS[int(digit)] for digit in str(i))


def tags(language, n=N, **more):
    """train.tags.de-en.de: a talk's head, then a sentence a line."""
    head = [
        "<url>http://www.ted.com/talks/lang/x/1</url>",
        "<keywords>talks, speech</keywords>",
        "<speaker>A Person</speaker>",
        "<talkid>1</talkid>",
        f"<title>Title {language}</title>",
        f"<description>About it {language}</description>",
    ]
    tail = [
        "<reviewer></reviewer>",
        '<translator href="http://www.ted.com/profiles/1">Somebody</translator>',
    ]
    body = [
        more.get(f"line{i}", f" {language} {number(i)} &amp; so on.") for i in range(n)
    ]
    return ("\n".join([*head, *body, *tail]) + "\n").encode()


def xml(language, name, n=3):
    segments = "".join(
        f'<seg id="{i}"> {language} {name} &lt;{number(i)}&gt; </seg>\n'
        for i in range(1, n + 1)
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n'
        f'<srcset setid="{name}" srclang="German">\n<doc docid="1" genre="lectures">\n'
        f"<title>{name}</title>\n{segments}</doc>\n</srcset>\n</mteval>\n"
    ).encode()


TESTS = ["TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"]


def iwslt14(**changed):
    """The members of de-en.tgz; more than we read, as in the original."""
    files = {"de-en/README": b"read me"}
    for language in ("de", "en"):
        files[f"de-en/train.tags.de-en.{language}"] = tags(language)
        for name in TESTS:
            files[f"de-en/IWSLT14.{name}.de-en.{language}.xml"] = xml(language, name)
    return files | changed


@pytest.fixture
def folder(tmp_path):
    given = tmp_path / "given"
    given.mkdir()
    return given


def give(folder, file, members):
    (folder / file).write_bytes(tgz(members))


def test_iwslt14_is_read_as_fairseq_prepares_it(folder):
    give(folder, "de-en.tgz", iwslt14())
    fetch("iwslt14-de-en", folder=folder)
    corpus = load_corpus("iwslt14-de-en")
    assert corpus.languages == ("de", "en")
    # title, description, then the sentences; every 23rd is for validation
    assert corpus.train[:2] == [
        ("title de", "title en"),
        ("about it de", "about it en"),
    ]
    assert corpus.train[2] == ("de null & so on.", "en null & so on.")
    assert [pair[0] for pair in corpus.val] == [
        f"de {number(23 - 3)} & so on.",
        f"de {number(46 - 3)} & so on.",
    ]
    assert len(corpus.train) + len(corpus.val) == N + 2
    assert [target for _, target in corpus.test] == [
        f"en {name} <{number(i)}>".lower() for name in TESTS for i in (1, 2, 3)
    ]
    assert source_of("iwslt14-de-en")["archives"][0]["file"] == "de-en.tgz"
    assert verify("iwslt14-de-en") == []


@pytest.fixture
def served(folder, monkeypatch):
    """The folder as the official address of IWSLT14."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    run = partial(server.serve_forever, poll_interval=0.01)
    thread = threading.Thread(target=run)
    thread.start()
    data = describe("iwslt14-de-en")
    address = f"http://127.0.0.1:{server.server_port}/"
    monkeypatch.setitem(sets.SETS, data.name, replace(data, addresses=(address,)))
    yield folder
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_archive_is_downloaded_and_its_hash_recorded(served):
    give(served, "de-en.tgz", iwslt14())
    fetch("iwslt14-de-en")
    source = source_of("iwslt14-de-en")
    assert source["route"] == "official"
    assert source["archives"] == [
        {"file": "de-en.tgz", "sha256": sha256(tgz(iwslt14()))}
    ]
    assert len(load_corpus("iwslt14-de-en").test) == 15


def test_an_archive_that_was_unpacked_will_do(folder):
    for name, content in iwslt14().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    fetch("iwslt14-de-en", folder=folder)
    unpacked = load_corpus("iwslt14-de-en")
    assert len(unpacked.test) == 15
    assert len(source_of("iwslt14-de-en")["archives"]) == 12


def test_training_pairs_of_unlike_length_are_left_out_and_others_kept(folder):
    line = "de " + "sehr " * 20
    files = {"de-en/train.tags.de-en.de": tags("de", line7=line)}
    give(folder, "de-en.tgz", iwslt14(**files))
    fetch("iwslt14-de-en", folder=folder)
    corpus = load_corpus("iwslt14-de-en")
    assert len(corpus.train) + len(corpus.val) == N + 1
    assert len(corpus.test) == 15


def test_iwslt15_is_plain_files_with_entities(folder):
    for part, n in (("train", 4), ("tst2012", 2), ("tst2013", 3)):
        for language in ("en", "vi"):
            lines = [f"{language} don &apos;t {part} {i} &#91;x&#93;" for i in range(n)]
            (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", "utf-8")
    fetch("iwslt15-en-vi", folder=folder)
    corpus = load_corpus("iwslt15-en-vi")
    assert [len(corpus.train), len(corpus.val), len(corpus.test)] == [4, 2, 3]
    assert corpus.train[0] == ("en don 't train 0 [x]", "vi don 't train 0 [x]")


def table(*rows):
    head = "talk_name\ten\tja\tro"
    return "\n".join([head, *("\t".join(row) for row in rows)]).encode() + b"\n"


def ted(rows):
    return {f"all_talks_{part}.tsv": table(*rows) for part in ("train", "dev", "test")}


@pytest.fixture
def small_ted(monkeypatch):
    """The two sets, for archives that are smaller than the one they know."""
    for name in ("ted-ja-en", "ted-ro-en"):
        data = describe(name)
        archives = (replace(data.archives[0], sha256=None),)
        monkeypatch.setitem(sets.SETS, name, replace(data, archives=archives))


def test_another_table_than_the_published_one_is_refused(folder, cache):
    give(folder, "ted_talks.tar.gz", ted([("talk", "one", "いち", "unu")]))
    said = refusal("ted-ja-en", folder)
    assert "ted_talks.tar.gz must have sha256 03457b9ebc6d…, got" in said
    assert not (cache / "ted-ja-en").exists()


@pytest.mark.usefixtures("small_ted")
@pytest.mark.parametrize("inside", ["", "./", "ted_talks/"])
@pytest.mark.parametrize(("language", "column"), [("ja", 2), ("ro", 3)])
def test_the_table_of_talks_has_a_column_for_each_language(
    folder, inside, language, column
):
    rows = [
        ("talk", 'a "quoted word', "いち", "unu"),
        ("talk", "two", "__NULL__", "__NULL__"),  # not translated
        ("talk", "three", "", ""),
    ]
    members = {f"{inside}{name}": text for name, text in ted(rows).items()}
    give(folder, "ted_talks.tar.gz", members)
    fetch(f"ted-{language}-en", folder=folder)
    corpus = load_corpus(f"ted-{language}-en")
    assert corpus.train == corpus.val == corpus.test == [(rows[0][column], rows[0][1])]


DE, EN = "de-en/train.tags.de-en.de", "de-en/train.tags.de-en.en"
LINES = "must have as many sentences, got"
BAD = {
    "one side is shorter": ({DE: tags("de", n=N - 1)}, f"{LINES} {N + 1} and {N + 2}"),
    "an empty corpus": (
        {DE: b"", EN: b""},
        "train must hold pairs of sentences, got none",
    ),
    "one side is empty": ({DE: b""}, f"{LINES} 0 and {N + 2}"),
    "no UTF-8": ({DE: b"\xff\xfe"}, "train.tags.de-en.de must be UTF-8"),
    "a test set of another length": (
        {"de-en/IWSLT14.TED.tst2011.de-en.en.xml": xml("en", "x", n=2)},
        f"{LINES} 3 and 2",
    ),
}


def refusal(name, folder):
    with pytest.raises(DataError) as caught:
        fetch(name, folder=folder)
    return str(caught.value)


@pytest.mark.parametrize(("changed", "why"), BAD.values(), ids=BAD.keys())
def test_a_bad_corpus_is_refused_and_nothing_is_left(folder, cache, changed, why):
    give(folder, "de-en.tgz", iwslt14(**changed))
    assert why in refusal("iwslt14-de-en", folder)
    assert not (cache / "iwslt14-de-en").exists()
    assert hidden(cache) == []


def test_an_archive_without_a_file_names_it(folder, cache):
    members = iwslt14()
    del members[EN]
    give(folder, "de-en.tgz", members)
    said = refusal("iwslt14-de-en", folder)
    assert "train.tags.de-en.en must be there, got nothing" in said
    assert hidden(cache) == []


def test_a_corrupted_archive_is_refused_and_nothing_is_left(folder, cache):
    content = tgz(iwslt14())
    (folder / "de-en.tgz").write_bytes(content[: len(content) // 2])
    assert "ended before the end-of-stream" in refusal("iwslt14-de-en", folder)
    assert not (cache / "iwslt14-de-en").exists()
    assert hidden(cache) == []


def test_a_corrupted_corpus_leaves_the_good_one_alone(folder):
    """Fetching again hashes what is there; a bad folder is not even opened."""
    give(folder, "de-en.tgz", iwslt14())
    place = fetch("iwslt14-de-en", folder=folder)
    before = (place / "train.tsv").read_bytes()
    (folder / "de-en.tgz").write_bytes(b"nothing")
    fetch("iwslt14-de-en", folder=folder)
    assert (place / "train.tsv").read_bytes() == before


@pytest.mark.usefixtures("small_ted")
def test_a_table_without_the_language_names_it(folder):
    rows = dict.fromkeys(ted([]), b"talk_name\ten\n")
    give(folder, "ted_talks.tar.gz", rows)
    assert "all_talks_train.tsv must have a column ja" in refusal("ted-ja-en", folder)


def test_a_folder_without_the_archive_says_what_it_should_hold(folder):
    said = refusal("iwslt14-de-en", folder)
    assert "train.tags.de-en.de" in said
    assert "de-en.tgz" in said


def test_the_small_archives_are_archives():
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(tgz(iwslt14())))) as tar:
        assert len(tar.getnames()) == 13
