"""A folder of pages on localhost, for browsers that open nothing from disk.

Nobody else can reach it: it listens on 127.0.0.1, and answers only to that name, so
that a page from elsewhere cannot reach it through a name of its own (DNS rebinding). It
shows what is in the folder, and follows no link.
"""

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from acprop import checks
from acprop.checks import UserError

HOST = "127.0.0.1"
PAGE = "index.html"


class PageServer(ThreadingHTTPServer):
    """Serves one folder; port 0 takes any that is free. A context manager."""

    def __init__(self, folder: Path, port: int) -> None:
        checks.integer("port", port, least=0)
        if not (folder / PAGE).is_file():
            raise UserError(
                f"folder must hold {PAGE}, got {folder}; acprop reproduce and "
                "acprop report write one"
            )
        handler = partial(_Handler, directory=str(folder.resolve()))
        try:
            super().__init__((HOST, port), handler)
        except (OSError, OverflowError) as error:
            raise UserError(
                f"port must be free and below 65536, got {port} ({error}); 0 takes any"
            ) from None

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.server_port}/"


class _Handler(SimpleHTTPRequestHandler):
    timeout = 30  # seconds of silence, after which the thread ends

    def send_head(self) -> Any:
        # a browser leaves out the port if it is 80
        name = self.headers.get("Host", "").partition(":")[0]
        if name not in (HOST, "localhost"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "not a name of this server")
        elif not self._is_here():
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            return super().send_head()
        return None

    def _is_here(self) -> bool:
        """Is what is wanted a page in the folder itself, and no link on the way?"""
        path = Path(self.translate_path(self.path))
        try:
            path = path / PAGE if path.is_dir() else path
            return path.is_file() and path.resolve() == path
        except (OSError, ValueError):  # no file can have such a name
            return False

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed by the library."""
