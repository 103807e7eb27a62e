"""Ray's token. Whoever reaches a cluster that has none can run anything on its nodes.

Ray reads the token from RAY_AUTH_TOKEN, from the file RAY_AUTH_TOKEN_PATH, or from
~/.ray/auth_token, on every node and for every driver. RAY_AUTH_MODE=disabled, in the
environment of the driver, is how a user says that a cluster may do without.
"""

import os
import secrets
from importlib import import_module
from pathlib import Path
from typing import Any

from acprop.checks import UserError

DISABLED = "disabled"
MODE, TOKEN, PATH = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


def require() -> None:
    """Have Ray use the token, also if somebody imported it before."""
    os.environ.setdefault(MODE, "token")
    import_module("ray._raylet").Config.initialize("")


def make() -> None:
    """A token for a cluster of our own. All users may read the one that Ray makes."""
    path = Path.home() / ".ray" / "auth_token"
    if (
        os.environ.get(MODE) == DISABLED
        or os.environ.get(TOKEN)
        or os.environ.get(PATH)
    ):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"auth_token.{os.getpid()}")
    new.touch(mode=0o600)
    try:
        new.write_text(secrets.token_hex(32), "utf-8")
        os.link(new, path)  # in one step, unlike a file that is created and then filled
    except FileExistsError:  # it is there, or another process was faster
        return
    finally:
        new.unlink()


def is_required() -> bool:
    """Does the cluster whose worker calls this require a token?"""
    ray: Any = import_module("ray._private.authentication.authentication_utils")
    return ray.is_token_auth_enabled()


def check(ray: Any) -> None:
    """Refuse a cluster that requires no token, unless the user allows it."""
    if os.environ.get(MODE) == DISABLED:
        return
    look = ray.remote(is_required).options(num_cpus=0)
    if not ray.get(look.remote()):
        raise UserError(
            "address must be that of a Ray cluster that requires a token, got one on "
            f"which whoever reaches it can run anything; start every node with {MODE}="
            f"token (docs/cluster.md), or allow it here with {MODE}={DISABLED}"
        )


def refused(address: str) -> UserError:
    """The error of a driver that has no token, or another than its cluster."""
    return UserError(
        f"the token must be that of the Ray cluster at {address}, got another or none; "
        f"copy ~/.ray/auth_token from its head, or set {TOKEN}"
    )
