"""The corpora we know: pairs of sentences from packages, and the TED talks.

nmt-de-en, nmt-de-en-60 …   messages of programs, from ten or sixty Debian packages; the
                            larger sets also have LibreOffice and, for German, the Bible
iwslt14-de-en               what the paper's DE-EN comes from, as fairseq prepares it
iwslt15-en-vi, ted-ja-en,   what the implementation holds that the paper's other pairs
ted-ro-en                   were trained with
iwslt17-ja-en, …            the same languages in WIT3's own archives

Debian's versions move, and archives of talks have been packed more than once: no sha256
of the files is known beforehand, so it is recorded when a set is fetched. Until then
apt's check of Debian's signature protects them, or the connection; a sha256 here does
where an archive has only one form.
"""

from acprop.tasks.data.dataset import (
    Archive,
    Bitext,
    Dataset,
    File,
    Official,
    Package,
    Talks,
)

FILES = tuple(File(f"{part}.tsv") for part in ("train", "val", "test"))
NAMES = {"de": "German", "en": "English", "ja": "Japanese", "ro": "Romanian"}
NAMES["vi"] = "Vietnamese"

Languages = tuple[str, str]
DE_EN, EN_VI, JA_EN, RO_EN = ("de", "en"), ("en", "vi"), ("ja", "en"), ("ro", "en")

# The ten that have most for each pair of languages, without the largest two.
TEN = {
    "de": """gcc-11-locales libvirt-l10n util-linux-locales sympa subversion
    weechat-core fontforge-common claws-mail-i18n gnumeric-common krb5-locales""",
    "vi": """gcc-11-locales binutils-common fontforge-common util-linux-locales
    libvirt-l10n audacity-data cinnamon-l10n libgtk2.0-common mailutils-common
    libc-l10n""",
    "ja": """libvirt-l10n sympa binutils-common util-linux-locales gcc-11-locales
    claws-mail-i18n weechat-core audacity-data gwyddion-common subversion""",
    "ro": """binutils-common cinnamon-l10n claws-mail-i18n libgtk2.0-common gnupg1-l10n
    libglib2.0-data evolution-data-server-common dpkg amule-common cryptsetup-bin""",
}
SIXTY = """
aegisub-l10n amule-common aptitude-common aspell audacity-data binutils-common
cairo-dock-plug-in-data cinnamon-l10n claws-mail-i18n cryptsetup-bin dpkg
e2fsprogs-l10n evolution-data-server-common fdroidserver folks-common
fontforge-common gawk gcc-11-locales gconf2-common geany-plugins-common gettext
gnome-packagekit-common gnome-settings-daemon-common gnome-software-common
gnumeric-common gnupg1-l10n gphoto2 gvfs-common gwyddion-common krb5-locales
libc-l10n libclutter-1.0-common libelf1 libgladeui-common libglib2.0-data
libgpg-error-l10n libgphoto2-l10n libgtk2.0-common libparted-i18n libvirt-l10n
login lynx-common mailutils-common minicom nano pacman-package-manager procps
shotwell-common subversion sudo sylpheed-i18n sympa tar util-linux-locales
vlc-l10n weechat-core wget wx3.2-i18n xkb-data zypper-common
"""
# LibreOffice has no help in Romanian.
OFFICE = {
    "de": "libreoffice-l10n-de libreoffice-help-en-us libreoffice-help-de",
    "vi": "libreoffice-l10n-vi libreoffice-help-en-us libreoffice-help-vi",
    "ja": "libreoffice-l10n-ja libreoffice-help-en-us libreoffice-help-ja",
    "ro": "libreoffice-l10n-ro",
}
BIBLES = (
    ("kjv", "b41e0a5a2eccce384964b684c6fd083701cb4fb794b2540527b94502dc74fcbe"),
    ("lut1912", "d2df9b77d8f58f0f1869ed3271693fbd3cd94f6cb2c2a86567c87ce5a3247efe"),
)


def _apt(names: str) -> tuple[Package, ...]:
    return tuple(Package("apt", n, Archive(f"{n}_*.deb", "deb")) for n in names.split())


def _bibles() -> tuple[Package, ...]:
    return tuple(
        Package(
            "npm",
            f"xmlbible-{name}@1.0.0",
            Archive(f"xmlbible-{name}-1.0.0.tgz", "tar", "package", sha256),
        )
        for name, sha256 in BIBLES
    )


def _harvested(languages: Languages, size: int) -> Dataset:
    (other,) = set(languages) - {"en"}
    packages = _apt(TEN[other] if size == 10 else SIXTY + OFFICE[other])
    if size != 10 and other == "de":
        packages += _bibles()
    name = f"nmt-{languages[0]}-{languages[1]}" + ("" if size == 10 else f"-{size}")
    return _pairs(
        name,
        languages,
        f"messages of programs, from {len(packages)} packages",
        Bitext(languages, packages),
        on_request=size != 10,
    )


def _pairs(
    name: str,
    languages: Languages,
    what: str,
    bitext: Bitext,
    *,
    official: tuple[Official, ...] = (),
    on_request: bool = True,
) -> Dataset:
    read, write = (NAMES[language] for language in languages)
    return Dataset(
        name=name,
        title=f"{read} → {write}: {what}",
        form="pairs",
        n_classes=0,
        files=FILES,
        official=official,
        package=None,
        layouts=(name, *(a.inside for o in official for a in o.archives[:1]), "."),
        mean=None,
        std=None,
        bitext=bitext,
        on_request=on_request,
    )


def _wit3(languages: Languages, year: int, val: str, test: str) -> Talks:
    """The names that WIT3 gives; val and test as sets of the evaluation campaign."""
    pair = "-".join(languages)
    held = [
        tuple(f"IWSLT{year}.{name}.{pair}.{{}}.xml" for name in names.split())
        for names in (val, test)
    ]
    return Talks(f"train.tags.{pair}.{{}}", *held, lower=year == 14)


def _archive(
    address: str, file: str, inside: str, sha256: str | None = None
) -> Official:
    return Official(address, (Archive(file, "tar", inside, sha256),))


IWSLT14 = _pairs(
    "iwslt14-de-en",
    DE_EN,
    "TED talks, IWSLT 2014",
    Bitext(
        DE_EN,
        # fairseq's choice: no set for validation, and all these together as the test
        _wit3(
            DE_EN,
            14,
            "",
            "TED.dev2010 TEDX.dev2012 TED.tst2010 TED.tst2011 TED.tst2012",
        ),
    ),
    official=(
        _archive(
            "https://wit3.fbk.eu/archive/2014-01/texts/de/en/", "de-en.tgz", "de-en"
        ),
        # the copy that fairseq's recipe takes
        _archive(
            "https://dl.fbaipublicfiles.com/fairseq/data/iwslt14/", "de-en.tgz", "de-en"
        ),
    ),
)

_EN_VI = Talks("train.{}", ("tst2012.{}",), ("tst2013.{}",))
IWSLT15 = _pairs(
    "iwslt15-en-vi",
    EN_VI,
    "TED talks, IWSLT 2015, as Stanford prepared them",
    Bitext(EN_VI, _EN_VI),
    official=(
        Official(
            "https://nlp.stanford.edu/projects/nmt/data/iwslt15.en-vi/",
            tuple(Archive(file, "gz") for file in Bitext(EN_VI, _EN_VI).members),
        ),
    ),
)


def _ted(languages: Languages) -> Dataset:
    table = "all_talks_{}.tsv"
    train, val, test = (table.replace("{}", part) for part in ("train", "dev", "test"))
    return _pairs(
        f"ted-{languages[0]}-{languages[1]}",
        languages,
        "TED talks, the table of Qi et al. (2018)",
        Bitext(languages, Talks(train, (val,), (test,))),
        official=(
            _archive(
                "https://phontron.com/data/",
                "ted_talks.tar.gz",
                "",
                # as TensorFlow's and Hugging Face's catalogs of data sets both have it
                "03457b9ebc6d60839f1a48c5a03c940266aff78b81fcda4c6d9e2a5a7fb670ae",
            ),
        ),
    )


_JA_TESTS = " ".join(f"TED.tst{year}" for year in range(2010, 2016))
IWSLT17_JA = _pairs(
    "iwslt17-ja-en",
    JA_EN,
    "TED talks, IWSLT 2017",
    Bitext(JA_EN, _wit3(JA_EN, 17, "TED.dev2010", _JA_TESTS)),
    official=(
        _archive(
            "https://wit3.fbk.eu/archive/2017-01-trnted/texts/ja/en/",
            "ja-en.tgz",
            "ja-en",
        ),
    ),
)
_FIVE = "DeEnItNlRo-DeEnItNlRo"
IWSLT17_RO = _pairs(
    "iwslt17-ro-en",
    RO_EN,
    "TED talks, IWSLT 2017",
    Bitext(RO_EN, _wit3(RO_EN, 17, "TED.dev2010", "TED.tst2010")),
    official=(
        _archive(
            "https://wit3.fbk.eu/archive/2017-01-trnmted/texts/DeEnItNlRo/DeEnItNlRo/",
            f"{_FIVE}.tgz",
            _FIVE,
        ),
    ),
)

SIZES = (10, 60)
BITEXTS = (
    *(_harvested(pair, n) for pair in (DE_EN, EN_VI, JA_EN, RO_EN) for n in SIZES),
    IWSLT14,
    IWSLT15,
    _ted(JA_EN),
    _ted(RO_EN),
    IWSLT17_JA,
    IWSLT17_RO,
)
