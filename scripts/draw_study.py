"""Draw the figure of a study from its records, for a document.

python scripts/draw_study.py results/rl/dqn-four-rooms-small.jsonl \
    docs/figures/dqn-four-rooms.png
"""

import argparse
from pathlib import Path

from acprop.records import RunRecord, StudyRecord, read
from acprop.report.figures import draw
from acprop.report.studies import gather
from acprop.report.study_figures import study_figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("picture", type=Path)
    given = parser.parse_args()
    found = list(read(given.records))
    (study,) = [record for record in found if isinstance(record, StudyRecord)]
    runs = [record for record in found if isinstance(record, RunRecord)]
    panels = study_figures(gather(study, runs))
    title = f"{study.title} ({study.scale} scale)"
    draw(panels, given.picture, title=title)


if __name__ == "__main__":
    main()
