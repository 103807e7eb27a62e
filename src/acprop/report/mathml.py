r"""LaTeX formulas as MathML, which every browser sets without a script.

The part of LaTeX that the pages of docs/ use, and no more: an unknown command is
refused, so that no formula is ever shown half translated.
"""

import re
from html import escape

# Words in braces are one token with their command: spaces count there.
_TOKEN = re.compile(
    r"\\(?:text|operatorname\*?|begin|end)\{[^}]*\}"
    r"|\\math(?:bb|cal)(?:\{[A-Z]\}| *[A-Z])"
    r"|\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\s+|.",
    re.DOTALL,
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
    "propto": "∝", "times": "×", "to": "→", "approx": "≈",
}  # fmt: skip
_FENCES = {
    "langle": "⟨", "rangle": "⟩", "lceil": "⌈", "rceil": "⌉", "lvert": "|",
    "rvert": "|", "{": "{", "}": "}", "|": "‖",
}  # fmt: skip
_SPACES = {"!": -0.17, ",": 0.17, ";": 0.28, " ": 0.33, "quad": 1, "qquad": 2}
_SYMBOLS = {
    **{name: f"<mi>{sign}</mi>" for name, sign in _LETTERS.items()},
    **{name: f"<mo>{sign}</mo>" for name, sign in _OPERATORS.items()},
    **{name: f'<mo stretchy="false">{sign}</mo>' for name, sign in _FENCES.items()},
    **{name: f'<mspace width="{w}em"></mspace>' for name, w in _SPACES.items()},
    **{
        name: f"<mi>{name}</mi><mo>\N{FUNCTION APPLICATION}</mo>"
        for name in ("cos", "exp", "ln", "log", "tanh")
    },
}
_BIG = {"big": 1.2, "bigl": 1.2, "bigr": 1.2, "Big": 1.8, "Bigl": 1.8, "Bigr": 1.8}
_ACCENTS = {"hat": "^", "bar": "‾", "tilde": "~"}
_LARGE = {
    "sum": "<mo>∑</mo>",
    "int": "<mo>∫</mo>",
    **{name: f"<mi>{name}</mi>" for name in ("max", "min", "lim")},
}
# Where the letters of an alphabet begin, and those that Unicode had before.
_ALPHABETS = {
    "mathbb": (0x1D538, {"C": "ℂ", "H": "ℍ", "N": "ℕ", "P": "ℙ", "R": "ℝ", "Z": "ℤ"}),
    "mathcal": (0x1D49C, {"B": "ℬ", "E": "ℰ", "F": "ℱ", "L": "ℒ", "M": "ℳ", "R": "ℛ"}),
}
_BRACKETS = frozenset("()[]|/")
_SIGNS = frozenset("+-=<>,.:;!*'")
_PRINTED = {"-": "−", "'": "′"}
_SCRIPTS = {"_": "msub", "^": "msup", "_^": "msubsup"}
_LIMITS = {"_": "munder", "^": "mover", "_^": "munderover"}
Atom = tuple[str, bool]  # MathML; are sub- and superscript set below and above it?


def block(latex: str) -> str:
    """A formula on lines of its own."""
    return f'<math display="block">{_row(latex)}</math>'


def inline(latex: str) -> str:
    """A formula among words."""
    return f"<math>{_row(latex)}</math>"


def _row(latex: str) -> str:
    content, _ = _Parser(latex).until("")
    return f"<mrow>{content}</mrow>"


class _Parser:
    def __init__(self, latex: str) -> None:
        self.latex = latex
        tokens = [t for t in _TOKEN.findall(latex) if not t.isspace()]
        self.tokens = ["", *reversed(tokens)]  # the next is the last; "" is the end

    def until(self, *ends: str) -> tuple[str, str]:
        """Everything up to one of these tokens, and which; it is taken."""
        parts: list[str] = []
        while self.tokens[-1] not in ends:
            parts.append(self._scripted())
        return "".join(parts), self.tokens.pop()

    def _error(self, got: str) -> ValueError:
        return ValueError(
            f"a formula must be of the LaTeX that mathml.py knows, got {got} in "
            f"{self.latex!r}"
        )

    def _scripted(self) -> str:
        """An atom with what is below and above it."""
        atom, has_limits = self._atom()
        scripts: dict[str, str] = {}
        while (mark := self.tokens[-1]) in ("_", "^"):
            self.tokens.pop()
            if mark in scripts:
                raise self._error(f"{mark} twice")
            scripts[mark] = self._argument()
        marks = [mark for mark in "_^" if mark in scripts]
        if not marks:
            return atom
        name = (_LIMITS if has_limits else _SCRIPTS)["".join(marks)]
        return f"<{name}>{atom}{''.join(scripts[m] for m in marks)}</{name}>"

    def _argument(self) -> str:
        r"""A group, or the token or digit that stands for it: \frac12 is a half."""
        token = self.tokens[-1]
        if token.isdigit() and len(token) > 1:
            self.tokens[-1] = token[1:]
            return f"<mn>{token[0]}</mn>"
        return self._atom()[0]

    def _group(self) -> str:
        content, _ = self.until("}")
        return f"<mrow>{content}</mrow>"

    def _atom(self) -> Atom:
        token = self.tokens.pop()
        if token.startswith("\\"):
            return self._command(token[1:])
        if token == "{":
            return self._group(), False
        if token[:1].isdigit():
            return f"<mn>{token}</mn>", False
        if token.isalpha():
            return f"<mi>{token}</mi>", False
        if token in _BRACKETS:
            return f'<mo stretchy="false">{token}</mo>', False
        if token in _SIGNS:
            return f"<mo>{escape(_PRINTED.get(token, token))}</mo>", False
        raise self._error(repr(token) if token else "its end")

    def _command(self, command: str) -> Atom:
        name, _, words = command[1:].partition("{")
        name = command[:1] + name
        words = escape(words.removesuffix("}").replace(" ", "\N{NO-BREAK SPACE}"))
        if name in _SYMBOLS:
            return _SYMBOLS[name], False
        if name in _LARGE:
            return _LARGE[name], name != "int"
        if name in _BIG:
            size = f'minsize="{_BIG[name]}em" maxsize="{_BIG[name]}em"'
            return f'<mo stretchy="true" {size}>{self._bracket()}</mo>', False
        match name.split():
            case ["frac" | "tfrac"]:
                over, under = self._argument(), self._argument()
                return f"<mfrac>{over}{under}</mfrac>", False
            case ["sqrt"]:
                return f"<msqrt>{self._argument()}</msqrt>", False
            case ["left" | "right"]:
                return f'<mo stretchy="true">{self._bracket()}</mo>', False
            case ["hat" | "bar" | "tilde"]:
                mark = f'<mo stretchy="false">{_ACCENTS[name]}</mo>'
                accent = f'<mover accent="true">{self._argument()}{mark}</mover>'
                return accent, False
            case ["mathbb" | "mathcal" as alphabet, *letters] if letters or words:
                first, older = _ALPHABETS[alphabet]
                letter = "".join(letters) or words
                code = chr(first + ord(letter) - ord("A"))
                return f"<mi>{older.get(letter, code)}</mi>", False
            case ["text"]:
                return f"<mtext>{words}</mtext>", False
            case ["operatorname" | "operatorname*"]:
                words = words.replace("\\,", "\u2009")
                return f"<mi>{words}</mi>", name.endswith("*")
            case ["begin"] if words == "cases":
                return self._cases(), False
            case _:
                raise self._error(f"\\{name}")

    def _bracket(self) -> str:
        token = self.tokens.pop()
        if token in _BRACKETS:
            return token
        if token[1:] in _FENCES:
            return _FENCES[token[1:]]
        raise self._error(f"{token!r} as a bracket")

    def _cases(self) -> str:
        rows, end = [""], "&"
        while end != "\\end{cases}":
            cell, end = self.until("&", "\\\\", "\\end{cases}")
            rows[-1] += f"<mtd>{cell}</mtd>"
            if end == "\\\\":
                rows.append("")
        body = "".join(f"<mtr>{row}</mtr>" for row in rows)
        brace = '<mo stretchy="true" fence="true">{</mo>'
        return f'<mrow>{brace}<mtable columnalign="left">{body}</mtable></mrow>'
