"""What `make` installs is locked, and is what pyproject.toml requires."""

import re
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
ENTRY = re.compile(
    r"[a-z0-9-]+==[\w.]+( ; [^\\]+)?( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
)


def locked(*names):
    """Every pin, by the name of its package: a package may have one for each Python."""
    pins = {}
    for name in names:
        text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
        for line in re.findall(r"^\w.*?(?= \\$)", text, re.MULTILINE):
            pin = Requirement(line)
            pins.setdefault(canonicalize_name(pin.name), []).append(pin)
    return pins


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_a_lock_file_holds_versions_and_hashes_and_nothing_else(file):
    """No address of an index either: that is the user's own setting."""
    head, *entries = re.split(r"^(?=\w)", file.read_text("utf-8"), flags=re.MULTILINE)
    assert head == "# Made by make lock.\n"
    assert entries
    assert [e for e in entries if not ENTRY.fullmatch(e)] == []


def test_every_package_that_is_installed_is_locked():
    """Not pip, which comes with Python, and not acprop. Delete .venv if one is left."""
    pins = locked("torch", "dev", "cuda", "trainers")
    unknown = []
    # Not all of sys.path: setuptools, once imported, adds packages of its own to it.
    for found in metadata.distributions(path=[sysconfig.get_path("purelib")]):
        name = canonicalize_name(found.name)
        version = found.version.partition("+")[0]  # torch's CPU build: 2.13.0+cpu
        versions = [str(pin.specifier) for pin in pins.get(name, [])]
        if name not in ("pip", "acprop") and f"=={version}" not in versions:
            unknown.append(f"{name}=={version}")
    assert unknown == []


def wanted(name, kind="extra"):
    """The requirements of an extra or a group, and of the extras that it names."""
    tables = {
        "extra": PROJECT["project"]["optional-dependencies"],
        "group": PROJECT["dependency-groups"],
    }
    for line in tables[kind][name]:
        requirement = Requirement(line)
        if requirement.name == "acprop":
            for other in requirement.extras:
                yield from wanted(other)
        else:
            yield requirement


EXTRAS = {
    "dev": [
        *map(Requirement, PROJECT["project"]["dependencies"]),
        *map(Requirement, PROJECT["build-system"]["requires"]),
        *wanted("dev", "group"),
        *(r for extra in ("bench", "cluster", "jax") for r in wanted(extra)),
    ],
    "trainers": list(wanted("trainers", "group")),
    "build": list(map(Requirement, PROJECT["build-system"]["requires"])),
}


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_the_project_requires_is_locked_within_its_range(extra):
    """After a change of pyproject.toml: make lock."""
    pins = locked("torch", "dev", extra)
    outside = [
        str(requirement)
        for requirement in EXTRAS[extra]
        if not (found := pins.get(canonicalize_name(requirement.name)))
        or not all(
            requirement.specifier.contains(str(pin.specifier).removeprefix("=="))
            for pin in found
        )
    ]
    assert outside == []


def test_one_version_of_a_package_serves_all_of_venv():
    pins = locked("torch", "dev", "cuda", "trainers", "timm", "build")
    several = {name for name, found in pins.items() if len({*map(str, found)}) > 1}
    markers = {n for n in several if len({str(p.specifier) for p in pins[n]}) == 1}
    assert several == markers  # the same version, for fewer systems


INSTALLS = re.compile(r"^.*\bpip \$\(LOCKED\)|^.*\bpip (?:install|download)\b", re.M)
EDITABLE = "$(BIN)/pip install -q --no-deps --no-build-isolation -e .\n"


def test_make_installs_nothing_without_a_hash():
    """But for this package; torch's file is downloaded first, and then checked."""
    text = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", "")
    assert (
        "LOCKED := install -q --require-hashes --no-deps --only-binary :all:\n" in text
    )
    lines = [line.strip() + "\n" for line in text.splitlines() if INSTALLS.match(line)]
    others = [
        line
        for line in lines
        if "$(LOCKED)" not in line and "--require-hashes --no-deps" not in line
    ]
    download = (
        "$(BIN)/pip download -q --no-deps --only-binary :all: -d build/torch $(TORCH)\n"
    )
    own = "build/clean/bin/pip install -q --no-deps --no-index dist/*.whl\n"
    assert others == [download, EDITABLE, own]
    assert len(lines) > len(others) + 5
