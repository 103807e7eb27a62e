"""How long does the site take from 1000 records, and how large is it?

The runs of results/ again and again under other names, until there are 1000, in
studies of about 40; everything is drawn, nothing is kept from before. Writes
results/perf/site.json. Its limits are 20 s and 4 MB without sample images; records lie
beside the pages and are not part of it.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

from measure import machine, save

from acprop.records import RunRecord, StudyRecord, write
from acprop.report.collect import collect
from acprop.reproduce.pages import build_page

ROOT = Path(__file__).parent.parent
PAGES = (".html", ".svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1000)
    n = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder, "records"), Path(folder, "site")
        write_records(given, n)
        begun = time.perf_counter(), cpu_seconds()
        build_page([given], out)
        wall, cpu = time.perf_counter() - begun[0], cpu_seconds() - begun[1]
        files = [file for file in out.rglob("*") if file.suffix in PAGES]
        size = sum(file.stat().st_size for file in files)
    record = {
        "machine": machine(),
        "records": n,
        "wall_seconds": wall,
        "cpu_seconds": cpu,
        "megabytes": size / 1e6,
        "files": len(files),
    }
    print(f"  {n} records: {wall:.1f} s, {cpu:.1f} s of CPU, {size / 1e6:.2f} MB")
    print(f"\nwritten to {save('site', record)}")


def cpu_seconds() -> float:
    """Of this process and of those that drew for it."""
    used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def write_records(folder: Path, n: int) -> None:
    """Copies of the stored studies, each with a name of its own."""
    studies = collect([ROOT / "results"]).studies
    verdicts = collect([ROOT / "results" / "lab"]).verdicts
    write(folder / "verdicts.jsonl", verdicts)
    left = n - len(verdicts)
    for k, (study, runs) in enumerate(endless(studies)):
        some = list(islice(runs, left))
        if not some:
            return
        name = f"{study.name}-{k}"
        copies = [replace(run, study=name) for run in some]
        write(folder / f"{k}.jsonl", [renamed(study, name, copies), *copies])
        left -= len(some)


def renamed(study: StudyRecord, name: str, runs: list[RunRecord]) -> StudyRecord:
    return replace(study, name=name, runs=tuple(run.run for run in runs))


def endless(studies):
    while True:
        yield from studies


if __name__ == "__main__":
    main()
