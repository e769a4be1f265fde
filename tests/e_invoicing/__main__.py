"""Proof of the invoices' XML by implementations that are not ours: `python3 tests/e_invoicing [<folder>]`.

Checks the samples beside this file and, in a folder that the tests have filled, each `*.xml`, `*.json` and `*.pdf`:
with the official schema and rules, with an oracle that computes everything again, against its record, as a PDF,
against the text of the PDF's page, and with four libraries that are not ours.
The folder's `gaps` are records that the service must refuse where the official rules do. Then plants faults, so that
a check that sees nothing is noticed, and checks valid invoices of each kind, so that one that refuses them is. Needs
the packages of `requirements.txt`, those of `node/package-lock.json` in a folder `node` of Python's environment, qpdf,
and poppler's pdftotext.
"""

import sys
from pathlib import Path

import cases
import check
import container
import container_faults
import gaps
import judges
import mutations
import oracle
import page
import record

# What the tests generate at least, by the ends of the names. Fewer prove little, and none is a test that has not run.
LEAST_GENERATED = {"xml": 400, "json": 400, "pdf": 80}


def is_filled(folder: Path) -> bool:
    """Whether the tests have left enough in a folder."""
    counts = {end: len(list(folder.glob(f"*.{end}"))) for end in LEAST_GENERATED}
    print(f"{folder}: {counts}, at least {LEAST_GENERATED} are expected")
    return all(counts[end] >= least for end, least in LEAST_GENERATED.items())


def main():
    generated = [Path(argument) for argument in sys.argv[1:]]
    outcomes = [is_filled(folder) for folder in generated]
    outcomes += [cases.check_folder(folder) for folder in generated]
    outcomes += [gaps.check_folder(folder / "gaps") for folder in generated]
    for folder in [mutations.SAMPLES, *generated]:
        outcomes += [part.check_folder(folder) for part in (check, oracle, record, container, page, judges)]
    outcomes += [mutations.check_faults(), mutations.check_variants(), mutations.check_record_faults()]
    outcomes += [container_faults.check_faults(), judges.check_faults(), judges.check_variants()]
    mutations.report_random_changes()
    if not all(outcomes):
        sys.exit("invoices as XML: FAILED")
    print("invoices as XML: all passed")


if __name__ == "__main__":
    main()
