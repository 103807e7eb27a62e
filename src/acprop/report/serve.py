"""A folder of pages on localhost, for browsers that open nothing from disk.

Nobody else can ask: it listens on 127.0.0.1, and answers only to that name, so that a
page from elsewhere cannot reach it through a name of its own (DNS rebinding). It shows
what is in the folder, and follows no link.
"""

from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any

from acprop import checks
from acprop.checks import UserError

__all__ = ["PageServer"]

HOST = "127.0.0.1"
PAGE = "index.html"
N_THREADS = 32  # a browser has six connections at once


class PageServer(ThreadingHTTPServer):
    """Serves one folder; port 0 takes any that is free. A context manager."""

    daemon_threads = True
    request_queue_size = N_THREADS

    def __init__(self, folder: Path, port: int) -> None:
        self._free = BoundedSemaphore(N_THREADS)
        checks.whole("port", port, least=0)
        if port > 65535:
            raise UserError(f"port must be 65535 or less, got {port}")
        if not (folder / PAGE).is_file():
            raise UserError(
                f"folder must hold {PAGE}, got {folder}; acprop reproduce and "
                "acprop report write one"
            )
        try:
            here = str(folder.resolve())
            super().__init__((HOST, port), partial(_Handler, directory=here))
        except OSError as error:
            raise UserError(
                f"port must be free, got {port} ({error.strerror}); 0 takes any"
            ) from None

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{HOST}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread of its own; with all of them busy, hang up."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """What such a thread does."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()


class _Handler(SimpleHTTPRequestHandler):
    timeout = 30  # seconds of silence, after which the thread is free again

    def send_head(self) -> Any:
        # a browser leaves out the port if it is 80
        name = self.headers.get("Host", "").partition(":")[0]
        if name not in (HOST, "localhost"):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "not a name of this server")
            return None
        if not self._is_here():
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def _is_here(self) -> bool:
        """Is what is wanted in the folder itself, and no link on the way to it?"""
        path = Path(self.translate_path(self.path))
        try:
            path = path / PAGE if path.is_dir() else path
            return path.resolve() == path
        except (OSError, ValueError):  # no file can have such a name
            return False

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
