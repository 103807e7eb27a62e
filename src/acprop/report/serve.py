"""A folder of pages on localhost, for browsers that open nothing from disk.

Nobody else can ask: it listens on 127.0.0.1, and answers only to that name, so that a
page from elsewhere cannot reach it through a name of its own (DNS rebinding).
"""

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from acprop import checks

__all__ = ["PageServer"]

HOST = "127.0.0.1"
PAGE = "index.html"


class PageServer(ThreadingHTTPServer):
    """Serves one folder; port 0 takes any that is free. A context manager."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int) -> None:
        checks.whole("port", port, least=0)
        if port > 65535:
            raise ValueError(f"port must be 65535 or less, got {port}")
        if not (folder / PAGE).is_file():
            raise ValueError(
                f"folder must hold {PAGE}, got {folder}; acprop reproduce and "
                "acprop report write one"
            )
        try:
            super().__init__((HOST, port), partial(_Handler, directory=str(folder)))
        except OSError as error:
            raise ValueError(
                f"port must be free, got {port} ({error.strerror}); 0 takes any"
            ) from None

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.server_port}/"


class _Handler(SimpleHTTPRequestHandler):
    def send_head(self) -> Any:
        name = self.headers.get("Host", "").rpartition(":")[0]
        if name not in (HOST, "localhost"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "not a name of this server")
            return None
        return super().send_head()

    def list_directory(self, path: Any) -> Any:
        """A folder without a page has nothing to show."""
        del path
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing is printed by the library."""
