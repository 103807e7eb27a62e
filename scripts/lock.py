"""Write requirements/*.txt: every package that `make` installs, with its hashes.

A version that is locked stays unless an option of `uv pip compile` says otherwise
(--upgrade, --upgrade-package NAME). A hash once locked stays as long as its version, so
that a build which the registry does not have can be added by its file:

    make lock LOCK="--upgrade-package torch torch-2.13.0+cpu-….whl"

torch     of its builds, the CPU's where one is offered
dev       the rest of .venv, on every platform and Python that we support
cuda      what torch needs besides where its build is not the CPU's
trainers  what `make test-trainers` adds to .venv
timm      what it keeps apart from .venv
oldest    .venv-oldest
build     what builds a release, and the uv that writes these files
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
CUDA = re.compile(r"(cuda|nvidia|triton)\b")
EXTRAS = ("bench", "cluster", "jax")  # what .venv has of those that users have
BUILD = ("auditwheel", "build", "twine", "uv")
OLDEST = "torch==2.6.0 numpy expecttest hypothesis pytest pytest-xdist"
HASH = re.compile(r"sha256:[0-9a-f]{64}")

Entries = dict[str, set[str]]  # "name==1.0 ; marker" → hashes


def parse(text: str) -> Entries:
    """The packages of a lock file."""
    entries = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    return {e.partition(" \\\n")[0].strip(): set(HASH.findall(e)) for e in entries}


def read(*names: str) -> Entries:
    files = [FOLDER / f"{name}.txt" for name in names]
    text = "".join(f.read_text("utf-8") for f in files if f.exists())
    return parse(text)


def written(entries: Entries) -> str:
    return "".join(
        " \\\n    --hash=".join([entry, *sorted(hashes)]) + "\n"
        for entry, hashes in sorted(entries.items())
    )


def resolved(old: Entries, options: list[str], wanted: str = "") -> Entries:
    """What is wanted and all that it needs, as it was locked where that still fits."""
    with tempfile.TemporaryDirectory() as folder:
        lock = Path(folder, "lock.txt")
        lock.write_text(written(old), "utf-8")
        command = "pip compile --quiet --universal --fork-strategy fewest"
        words = [Path(sys.executable).with_name("uv"), *command.split()]
        words += ["--generate-hashes", "--python-version", "3.11", "--no-annotate"]
        words += ["--no-header", "--output-file", lock, *options]
        subprocess.run(words, cwd=ROOT, check=True, text=True, input=wanted)
        new = parse(lock.read_text("utf-8"))
    return {entry: hashes | old.get(entry, set()) for entry, hashes in new.items()}


def write(name: str, entries: Entries) -> None:
    text = f"# Made by make lock.\n{written(entries)}"
    (FOLDER / f"{name}.txt").write_text(text, "utf-8")


def main() -> None:
    builds = [Path(word) for word in sys.argv[1:] if word.endswith(".whl")]
    options = [word for word in sys.argv[1:] if not word.endswith(".whl")]
    project = ["pyproject.toml", "--group", "dev", *options]
    for extra in EXTRAS:
        project += ["--extra", extra]
    dev = resolved(read("torch", "dev", "cuda"), project)
    for build in builds:
        name, version = build.name.split("-")[:2]
        digest = hashlib.sha256(build.read_bytes()).hexdigest()
        dev[f"{name}=={version.partition('+')[0]}"].add(f"sha256:{digest}")
    parts: dict[str, Entries] = {"torch": {}, "dev": {}, "cuda": {}}
    for entry, hashes in dev.items():
        part = "torch" if entry.startswith("torch==") else "dev"
        parts["cuda" if CUDA.match(entry) else part][entry] = hashes
    for name, entries in parts.items():
        write(name, entries)

    more = resolved(dev | read("trainers"), [*project, "--group", "trainers"])
    write("trainers", {e: h for e, h in more.items() if e not in dev})

    pins = ["-", *options]
    for name in parts:
        pins += ["--constraints", str(FOLDER / f"{name}.txt")]
    timm = resolved(more | read("timm"), pins, "timm\ntorchvision")
    write("timm", {e: h for e, h in timm.items() if re.match("timm|torchvision", e)})

    toml = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    builds_with = "\n".join([*BUILD, *toml["build-system"]["requires"]])
    write("build", resolved(dev | read("build"), pins, builds_with))

    write(
        "oldest", resolved(read("oldest"), ["-", *options], "\n".join(OLDEST.split()))
    )


if __name__ == "__main__":
    main()
