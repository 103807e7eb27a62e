"""What took long to compute, kept in the cache under a hash of all that decides it."""

import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from acprop import files
from acprop.plain import canonical
from acprop.tasks.data.store import cache_folder

_log = logging.getLogger(__name__)


def kept(
    folder: str, name: str, decides: dict[str, Any], make: Callable[[], bytes]
) -> bytes:
    """The bytes that `make` gives, from the cache if the same were made before.

    name: of the file, with {} for the hash of `decides`. A file that is not as it was
    written is made again.
    """
    found = hashlib.sha256(canonical(decides).encode()).hexdigest()
    path = cache_folder() / folder / name.format(found[:24])
    if path.is_file():
        try:
            return files.read_sealed(path)
        except ValueError as error:
            _log.warning("%s; it is made again", error)
    content = make()
    with suppress(OSError):  # where nothing can be kept, the next run makes it again
        files.write(path, content + files.seal(content))
    return content
