r"""LaTeX formulas as MathML, which every browser sets without a script.

The part of LaTeX that docs/maths.md uses, and no more: an unknown command is refused,
so that no formula is ever shown half translated.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape

from acprop.checks import UserError

__all__ = ["block", "inline", "text_with_formulas"]

_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\s+|.", re.DOTALL)

_LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "epsilon": "ε", "eta": "η",
    "kappa": "κ", "lambda": "λ", "mu": "μ", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "varphi": "φ", "zeta": "ζ", "Delta": "Δ", "Phi": "Φ", "Pi": "Π", "Psi": "Ψ",
    "infty": "∞", "nabla": "∇",
    "dots": "…", "square": "□",
}  # fmt: skip
_OPERATORS = {
    "bmod": "mod", "cdot": "·", "equiv": "≡", "forall": "∀", "ge": "≥", "gg": "≫",
    "iff": "⇔", "in": "∈", "le": "≤", "ll": "≪", "mid": "∣", "ne": "≠", "pm": "±",
    "times": "×", "to": "→", "approx": "≈",
}  # fmt: skip
_FENCES = {
    "langle": "⟨", "rangle": "⟩", "lceil": "⌈", "rceil": "⌉", "lvert": "|",
    "rvert": "|", "{": "{", "}": "}", "|": "‖",
}  # fmt: skip
_SPACES = {",": 0.17, ";": 0.28, " ": 0.33, "quad": 1, "qquad": 2}
_BIG = {"big": 1.2, "bigl": 1.2, "bigr": 1.2, "Big": 1.8, "Bigl": 1.8, "Bigr": 1.8}
_ACCENTS = {"hat": "^", "bar": "‾"}
_FUNCTIONS = ("log", "ln", "exp")
_WITH_LIMITS = ("max", "min", "lim")  # what stands below them is set below them
_LARGE = {"sum": "∑", "int": "∫"}
# Where the letters of an alphabet begin, and those that Unicode had before.
_ALPHABETS = {
    "mathbb": (0x1D538, {"C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "R": "ℝ", "Z": "ℤ"}),
    "mathcal": (0x1D49C, {"B": "ℬ", "E": "ℰ", "F": "ℱ", "L": "ℒ", "M": "ℳ", "R": "ℛ"}),
}


def block(latex: str) -> str:
    """A formula on lines of its own."""
    return f'<math display="block">{_translated(latex)}</math>'


def inline(latex: str) -> str:
    """A formula within a sentence."""
    return f"<math>{_translated(latex)}</math>"


def text_with_formulas(text: str) -> str:
    """Plain text, escaped, with $formulas$ in it translated."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        raise UserError(f"text must close every $ that it opens, got {text!r}")
    return "".join(
        inline(part) if i % 2 else escape(part) for i, part in enumerate(parts)
    )


def _translated(latex: str) -> str:
    tokens = [t for t in _TOKEN.findall(latex) if not t.isspace()]
    return _Parser(latex, tokens).row(until=None)


@dataclass(frozen=True, slots=True)
class _Atom:
    """has_limits: are its sub- and superscript set below and above it?"""

    mathml: str
    has_limits: bool = False


@dataclass(slots=True)
class _Parser:
    source: str
    tokens: list[str]
    place: int = 0

    def row(self, until: str | None) -> str:
        """Everything up to a token, which is taken; None is the end."""
        parts: list[str] = []
        while (token := self._peek()) != until:
            if token is None:
                raise self._error(f"no {until}")
            parts.append(self._scripted())
        self.place += until is not None
        return f"<mrow>{''.join(parts)}</mrow>"

    def _peek(self) -> str | None:
        return self.tokens[self.place] if self.place < len(self.tokens) else None

    def _next(self) -> str:
        token = self._peek()
        if token is None:
            raise self._error("its end")
        self.place += 1
        return token

    def _error(self, got: str) -> ValueError:
        return ValueError(
            f"a formula must be of the LaTeX that mathml.py knows, got {got} in "
            f"{self.source!r}"
        )

    def _scripted(self) -> str:
        """An atom with what is below and above it."""
        atom = self._atom()
        scripts: dict[str, str] = {}
        while (token := self._peek()) in ("_", "^"):
            self.place += 1
            if token in scripts:
                raise self._error(f"{token} twice")
            scripts[str(token)] = self._argument()
        low, high = scripts.get("_"), scripts.get("^")
        names = ("munder", "mover", "munderover") if atom.has_limits else _SCRIPTS
        if low and high:
            return f"<{names[2]}>{atom.mathml}{low}{high}</{names[2]}>"
        if low or high:
            name = names[0] if low else names[1]
            return f"<{name}>{atom.mathml}{low or high}</{name}>"
        return atom.mathml

    def _argument(self) -> str:
        """A group, or the one token that stands for it."""
        if self._peek() == "{":
            self.place += 1
            return self.row(until="}")
        if (token := self._peek()) is not None and token.isdigit():
            return f"<mn>{self._next()}</mn>"
        return self._atom().mathml

    def _atom(self) -> _Atom:
        token = self._next()
        if token.startswith("\\"):
            return self._command(token[1:])
        if token == "{":
            return _Atom(self.row(until="}"))
        if token.isdigit():
            return _Atom(f"<mn>{self._number(token)}</mn>")
        if token.isalpha():
            return _Atom(f"<mi>{token}</mi>")
        if token in "()[]|/":
            return _Atom(f'<mo stretchy="false">{token}</mo>')
        if token in "+-=<>,.:;!*":
            return _Atom(f"<mo>{escape(token.replace('-', '−'))}</mo>")
        raise self._error(repr(token))

    def _number(self, first: str) -> str:
        """Its other digits; a point is part of it only between digits."""
        digits = first
        while (token := self._peek()) is not None:
            after = self.tokens[self.place + 1 : self.place + 2]
            is_point = token == "." and bool(after) and after[0].isdigit()
            if not (token.isdigit() or is_point):
                break
            digits += self._next()
        return digits

    def _command(self, name: str) -> _Atom:
        for table, made in _TABLES:
            if name in table:
                return _Atom(made(table[name]))
        if name in _LARGE:
            return _Atom(f"<mo>{_LARGE[name]}</mo>", has_limits=name == "sum")
        if name in _FUNCTIONS:
            return _Atom(f"<mi>{name}</mi>{_APPLY}")
        if name in _WITH_LIMITS:
            return _Atom(f"<mi>{name}</mi>", has_limits=True)
        if name in _BIG:
            return _Atom(_fence(self._fence_sign(), f"{_BIG[name]}em"))
        if name in ("frac", "tfrac"):
            over, under = self._argument(), self._argument()
            return _Atom(f"<mfrac>{over}{under}</mfrac>")
        if name == "sqrt":
            return _Atom(f"<msqrt>{self._argument()}</msqrt>")
        if name in _ACCENTS:
            mark = f'<mo stretchy="false">{_ACCENTS[name]}</mo>'
            return _Atom(f'<mover accent="true">{self._argument()}{mark}</mover>')
        if name in _ALPHABETS:
            return _Atom(f"<mi>{self._letter(name)}</mi>")
        if name == "text":
            return _Atom(f"<mtext>{escape(self._words())}</mtext>")
        if name in ("operatorname", "operatorname*"):
            words = self._words().replace("\\,", "\u2009")
            return _Atom(f"<mi>{escape(words)}</mi>", has_limits=name.endswith("*"))
        if name == "begin":
            return _Atom(self._cases())
        raise self._error(f"\\{name}")

    def _fence_sign(self) -> str:
        token = self._next()
        if token.startswith("\\") and token[1:] in _FENCES:
            return _FENCES[token[1:]]
        if token in "()[]|/":
            return token
        raise self._error(f"{token!r} as a bracket")

    def _letter(self, alphabet: str) -> str:
        """One letter of an alphabet, in braces or not."""
        letter = self._next()
        if letter == "{":
            letter = self._next()
            if self._next() != "}":
                raise self._error(f"more than a letter in \\{alphabet}")
        first, older = _ALPHABETS[alphabet]
        return older.get(letter) or chr(first + ord(letter) - ord("A"))

    def _words(self) -> str:
        """What stands in braces, as it is: spaces count here, so look at the source."""
        n_before = sum(t == "{" for t in self.tokens[: self.place])
        start = [m.end() for m in re.finditer(r"(?<!\\)\{", self.source)][n_before]
        words = self.source[start : self.source.index("}", start)]
        while self._next() != "}":
            pass
        return words.replace(" ", "\N{NO-BREAK SPACE}")

    def _cases(self) -> str:
        if self._words() != "cases":
            raise self._error("another environment than cases")
        rows: list[list[str]] = [[""]]
        while (token := self._peek()) != "\\end":
            if token is None:
                raise self._error("no \\end")
            if token == "&":
                rows[-1].append("")
                self.place += 1
            elif token == "\\\\":
                rows.append([""])
                self.place += 1
            else:
                rows[-1][-1] += self._scripted()
        self.place += 1
        self._words()
        body = "".join(
            f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>"
            for row in rows
        )
        brace = '<mo stretchy="true" fence="true">{</mo>'
        return f'<mrow>{brace}<mtable columnalign="left">{body}</mtable></mrow>'


_SCRIPTS = ("msub", "msup", "msubsup")
_APPLY = "<mo>\N{FUNCTION APPLICATION}</mo>"


def _fence(sign: str, size: str) -> str:
    limits = f'minsize="{size}" maxsize="{size}"'
    return f'<mo stretchy="true" {limits}>{sign}</mo>'


def _space(width: float) -> str:
    return f'<mspace width="{width}em"></mspace>'


def _simple(tag: str) -> Callable[[str], str]:
    return lambda text: f"<{tag}>{escape(text)}</{tag}>"


def _plain_fence(sign: str) -> str:
    return f'<mo stretchy="false">{sign}</mo>'


def _tables() -> Iterator[tuple[dict[str, str], Callable[[str], str]]]:
    yield _LETTERS, _simple("mi")
    yield _OPERATORS, _simple("mo")
    yield _FENCES, _plain_fence
    yield (
        {name: str(width) for name, width in _SPACES.items()},
        lambda w: _space(float(w)),
    )


_TABLES = tuple(_tables())
