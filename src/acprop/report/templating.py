"""What every page is made with: the templates, a strict policy, our colours."""

from base64 import b64encode
from hashlib import sha256

from jinja2 import Environment, PackageLoader, StrictUndefined


def environment() -> Environment:
    """Our templates; every text in them is escaped, and every name must be known."""
    return Environment(
        loader=PackageLoader("acprop.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def policy(images: str, *, style: str, script: str = "") -> str:
    """This style, this script, these images, and nothing else."""
    allowed = ["default-src 'none'"]
    for name, text in (("script", script), ("style", style)):
        digest = b64encode(sha256(text.encode()).digest()).decode()
        allowed += [f"{name}-src 'sha256-{digest}'"] if text else []
    allowed += [f"img-src {images}", "base-uri 'none'", "form-action 'none'"]
    return "; ".join(
        [*allowed, "require-trusted-types-for 'script'"] if script else allowed
    )
