r"""LaTeX formulas as MathML, which every browser sets without a script.

The part of LaTeX that docs/maths.md uses, and no more: an unknown command is refused,
so that no formula is ever shown half translated.
"""

import re
from dataclasses import dataclass
from html import escape

__all__ = ["block"]

# Words in braces are one token with their command: spaces count there.
_TOKEN = re.compile(
    r"\\(?:text|operatorname\*?|begin|end)\{[^}]*\}|\\[a-zA-Z]+|\\.|\s+|.", re.DOTALL
)

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
_SYMBOLS = {
    **{name: f"<mi>{sign}</mi>" for name, sign in _LETTERS.items()},
    **{name: f"<mo>{sign}</mo>" for name, sign in _OPERATORS.items()},
    **{name: f'<mo stretchy="false">{sign}</mo>' for name, sign in _FENCES.items()},
    **{name: f'<mspace width="{w}em"></mspace>' for name, w in _SPACES.items()},
    **{
        name: f"<mi>{name}</mi><mo>\N{FUNCTION APPLICATION}</mo>"
        for name in ("log", "ln", "exp")
    },
}
_BIG = {"big": 1.2, "bigl": 1.2, "bigr": 1.2, "Big": 1.8, "Bigl": 1.8, "Bigr": 1.8}
_ACCENTS = {"hat": "^", "bar": "‾"}
_LARGE = {"sum": "∑", "int": "∫"}
# Where the letters of an alphabet begin, and those that Unicode had before.
_ALPHABETS = {
    "mathbb": (0x1D538, {"C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "R": "ℝ", "Z": "ℤ"}),
    "mathcal": (0x1D49C, {"B": "ℬ", "E": "ℰ", "F": "ℱ", "L": "ℒ", "M": "ℳ", "R": "ℛ"}),
}


def block(latex: str) -> str:
    """A formula on lines of its own."""
    tokens = [t for t in _TOKEN.findall(latex) if not t.isspace()]
    return f'<math display="block">{_Parser(latex, tokens).row(until=None)}</math>'


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
        names = ("munder", "mover") if atom.has_limits else ("msub", "msup")
        if low and high:
            both = "munderover" if atom.has_limits else "msubsup"
            return f"<{both}>{atom.mathml}{low}{high}</{both}>"
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
        name, _, words = name.partition("{") if len(name) > 1 else (name, "", "")
        words = escape(words.removesuffix("}").replace(" ", "\N{NO-BREAK SPACE}"))
        match name:
            case _ if name in _SYMBOLS:
                return _Atom(_SYMBOLS[name])
            case "sum" | "int":
                return _Atom(f"<mo>{_LARGE[name]}</mo>", has_limits=name == "sum")
            case "max" | "min" | "lim":  # what stands below them is set below them
                return _Atom(f"<mi>{name}</mi>", has_limits=True)
            case _ if name in _BIG:
                size = f'minsize="{_BIG[name]}em" maxsize="{_BIG[name]}em"'
                return _Atom(f'<mo stretchy="true" {size}>{self._fence_sign()}</mo>')
            case "frac" | "tfrac":
                over, under = self._argument(), self._argument()
                return _Atom(f"<mfrac>{over}{under}</mfrac>")
            case "sqrt":
                return _Atom(f"<msqrt>{self._argument()}</msqrt>")
            case "hat" | "bar":
                mark = f'<mo stretchy="false">{_ACCENTS[name]}</mo>'
                return _Atom(f'<mover accent="true">{self._argument()}{mark}</mover>')
            case "mathbb" | "mathcal":
                return _Atom(f"<mi>{self._letter(name)}</mi>")
            case "text":
                return _Atom(f"<mtext>{words}</mtext>")
            case "operatorname" | "operatorname*":
                words = words.replace("\\,", "\u2009")
                return _Atom(f"<mi>{words}</mi>", has_limits=name.endswith("*"))
            case "begin" if words == "cases":
                return _Atom(self._cases())
            case _:
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

    def _cases(self) -> str:
        rows: list[list[str]] = [[""]]
        while (token := self._peek()) != "\\end{cases}":
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
        body = "".join(
            f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>"
            for row in rows
        )
        brace = '<mo stretchy="true" fence="true">{</mo>'
        return f'<mrow>{brace}<mtable columnalign="left">{body}</mtable></mrow>'
