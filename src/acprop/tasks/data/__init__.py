"""Data sets with checksums and their cache; no torch is needed to list or fetch them.

What is read into memory has a module of its own: ``images``, ``texts``, ``corpora``.
"""

from acprop.tasks.data.fetching import fetch, verify
from acprop.tasks.data.sets import NAMES, DataError, Dataset, describe
from acprop.tasks.data.store import cache_folder, folder_of, is_present, source_of

__all__ = [
    "NAMES",
    "DataError",
    "Dataset",
    "cache_folder",
    "describe",
    "fetch",
    "folder_of",
    "is_present",
    "source_of",
    "verify",
]
