"""Build the C library of `acprop.native` beside its loader; everything else is in
pyproject.toml.

The library knows neither Python nor torch, so one wheel serves every version of both:
it is tagged py3-none-<platform>. Without a C compiler the install goes on without it.
"""

import hashlib
import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

HERE = "src/acprop/native"


class BuildLibrary(build_ext):
    """A shared library is no extension module: it has another name and no init."""

    def run(self) -> None:
        """Build it, and write its hash beside it, without which it is not loaded."""
        super().run()
        for extension in self.extensions:
            library = Path(self.get_ext_fullpath(extension.name))
            if library.exists():
                found = hashlib.sha256(library.read_bytes()).hexdigest()
                library.with_suffix(".sha256").write_text(found, "ascii")

    def get_ext_filename(self, fullname: str) -> str:
        return os.path.join(*fullname.split(".")) + ".so"

    def get_export_symbols(self, ext: Extension) -> list[str]:
        return ext.export_symbols


class Wheel(bdist_wheel):
    """For every Python of this platform."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


native = Extension(
    "acprop.native._native",
    sources=[f"{HERE}/{name}.c" for name in ("step", "sweep", "isa")],
    depends=[
        f"{HERE}/{name}" for name in os.listdir(HERE) if name.endswith((".h", ".inc"))
    ],
    extra_compile_args=[
        "-std=c11",
        "-O3",
        # Each operation rounds by itself, so that every machine computes the same.
        "-ffp-contract=off",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fvisibility=hidden",
        # For debugging and sanitizers: ACPROP_CFLAGS="-fsanitize=address -g"
        *os.environ.get("ACPROP_CFLAGS", "").split(),
    ],
    extra_link_args=os.environ.get("ACPROP_CFLAGS", "").split(),
    libraries=["m"],
    optional=True,
)

setup(
    ext_modules=[native],
    cmdclass={"build_ext": BuildLibrary, "bdist_wheel": Wheel},
)
