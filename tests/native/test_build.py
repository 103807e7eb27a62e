"""The C library as compilers see it: built in several ways, and not built at all.

`sanitize.c` beside this file calls the library without Python; what it checks is stated
there. The tests below build it with other flags and for other machines.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "src/acprop/native"
SOURCES = [str(NATIVE / name) for name in ("step.c", "sweep.c", "isa.c")]
HARNESS = str(Path(__file__).with_name("sanitize.c"))
# Those of setup.py that change what is computed. GCC's psabi note is about vectors as
# arguments between libraries; ours never leave a file.
FLAGS = (
    "-std=c11 -ffp-contract=off -fno-math-errno -fno-trapping-math -Wno-psabi "
    f"-Wall -Wextra -Werror -I{NATIVE}"
).split()
BASELINE = ("-O2", "-march=x86-64", "-DACPROP_BASELINE_ONLY")
SANITIZED = (
    "-O1",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
)


def needs(program: str, package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(program) is None,
        reason=f"needs {program}; install the Debian package {package}",
    )


CC = needs("cc", "gcc")
CLANG = needs("clang", "clang")
ARM = needs("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu")
X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="flags are of x86-64")


def run(*command: str, **environment: str) -> str:
    """What it printed; if it failed, everything it wrote is the message."""
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_harness(folder: Path, compiler: str, *flags: str) -> str:
    program = str(folder / "harness")
    run(compiler, *FLAGS, *flags, HARNESS, *SOURCES, "-lm", "-o", program)
    return program


def digest(report: str) -> str:
    return report.split("digest ")[1].split(",")[0]


# 1. One arithmetic


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> str:
    """The digest of a build as setup.py makes it for this machine."""
    program = build_harness(tmp_path_factory.mktemp("plain"), "cc", "-O3")
    return digest(run(program))


@pytest.mark.parametrize(
    ("compiler", "flags"),
    [
        # `make sanitize` includes these two
        pytest.param("cc", SANITIZED, id="sanitizers", marks=[CC, pytest.mark.slow]),
        pytest.param("cc", BASELINE, id="baseline", marks=[CC, X86]),
        pytest.param("clang", ("-O3",), id="clang", marks=[CC, CLANG]),
        pytest.param(
            "clang",
            SANITIZED,
            id="clang-sanitizers",
            marks=[CC, CLANG, pytest.mark.slow],
        ),
    ],
)
def test_every_build_computes_the_same(tmp_path, expected, compiler, flags):
    """step.h promises bits that depend neither on threads nor on instruction sets."""
    program = build_harness(tmp_path, compiler, *flags)
    assert digest(run(program)) == expected


@CC
@ARM
@needs("qemu-aarch64", "qemu-user")
def test_arm64_computes_the_same(tmp_path, expected):
    """Emulated, with the pow of its own C library."""
    program = build_harness(tmp_path, "aarch64-linux-gnu-gcc", "-O2", "-static")
    assert digest(run("qemu-aarch64", program)) == expected


@ARM
def test_the_library_compiles_without_a_warning_for_arm64(tmp_path):
    """With -O3, as the tests above do for this machine: FLAGS hold -Werror."""
    library = str(tmp_path / "_native.so")
    run(
        "aarch64-linux-gnu-gcc",
        *FLAGS,
        "-O3",
        "-fPIC",
        "-shared",
        *SOURCES,
        "-lm",
        "-o",
        library,
    )


# 2. The wheel, with a compiler and without

STEPS = """
import json, warnings
import acprop, torch
from acprop import native

def moves():
    param = torch.ones(3, requires_grad=True)
    optimizer = acprop.ACProp([param])
    for _ in range(3):
        param.grad = torch.ones(3)
        optimizer.step()
    return bool((param < 1).all())

warned, moved = [], []
for _ in range(2):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        moved.append(moves())
    warned.append([(w.category.__name__, str(w.message)) for w in caught])
loaded = native.load() is not None
print(json.dumps(dict(file=acprop.__file__, warned=warned, moved=moved, loaded=loaded)))
"""


def build_wheel(folder: Path, **environment: str) -> Path:
    """From a copy, for a build leaves its traces in the tree."""
    tree = folder / "tree"
    ignore = shutil.ignore_patterns("_native.*", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "src", tree / "src", ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel")
    options = ("--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder))
    run(*pip, str(tree), *options, **environment)
    (wheel,) = folder.glob("*.whl")
    return wheel


def unpack(wheel: Path) -> Path:
    folder = wheel.parent / "unpacked"
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def libraries(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("_native*"))


def take_steps(folder: Path, **environment: str) -> dict:
    """Three steps of each of two optimizers, with the package in `folder`."""
    printed = run(sys.executable, "-c", STEPS, PYTHONPATH=str(folder), **environment)
    result = json.loads(printed)
    assert Path(result["file"]).is_relative_to(folder)
    assert result["moved"] == [True, True]
    return result


@pytest.fixture(scope="module")
def without_compiler(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("without")
    return unpack(build_wheel(folder, CC="/nonexistent"))


def test_without_a_compiler_the_install_goes_on(without_compiler):
    assert libraries(without_compiler) == []


def test_without_the_library_the_user_is_told_once_why_and_what_to_do(without_compiler):
    result = take_steps(without_compiler, ACPROP_NATIVE="1")
    [[(category, message)], second] = result["warned"]
    assert category == "RuntimeWarning"
    assert "was not built" in message
    assert "install a C compiler" in message
    assert second == []
    assert not result["loaded"]


def test_who_switches_the_library_off_is_told_nothing(without_compiler):
    result = take_steps(without_compiler, ACPROP_NATIVE="0")
    assert result["warned"] == [[], []]
    assert not result["loaded"]


@CC
def test_one_wheel_serves_every_python_and_brings_the_library(tmp_path):
    wheel = build_wheel(tmp_path)
    _, _, python, abi, platform = wheel.stem.split("-")
    assert (python, abi) == ("py3", "none")
    assert platform != "any"
    folder = unpack(wheel)
    assert libraries(folder) == ["_native.sha256", "_native.so"]
    result = take_steps(folder, ACPROP_NATIVE="1")
    assert result["warned"] == [[], []]
    assert result["loaded"]
