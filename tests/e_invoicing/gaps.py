"""Records with a gap, beside the official rules: what these refuse, the service must have named.

A folder holds the XML of each record, which the service would not issue, and beside it a JSON with the `change` and the
`gaps` that the service named, each a field with its rule.
"""

import json
import sys
from collections import Counter
from pathlib import Path

import check

# Rules that the service takes stricter than the official checks: check digits and keys, addresses of more than a
# country, and texts in which a reader sees nothing. Articles of law have no official check.
STRICTER = {"BR-10", "BR-CO-09", "BR-FR-05", "BR-FR-11", "BR-FR-25"}
LEAST = 200


def check_folder(folder: Path) -> bool:
    """Compares what was named with what the official rules say; true if nothing is missing."""
    records = [json.loads(path.with_suffix(".json").read_bytes()) for path in xmls(folder)]
    results = check.validate_all([path.read_bytes() for path in xmls(folder)])
    refused, unnamed, stricter, faulty = 0, 0, Counter(), 0
    for record, result in zip(records, results, strict=True):
        refused += bool(result.findings)
        if result.findings and not record["gaps"]:
            unnamed += 1
            print(f"NOT NAMED: {record['change']}: {result.findings[0]}")
        if record["gaps"] and not result.findings:
            rules = {gap.split(": ", 1)[1] for gap in record["gaps"]}
            stricter.update(rules)
            if not rules & STRICTER and all(rule.startswith(("BR-", "XML")) for rule in rules):
                faulty += 1
                print(f"ONLY NAMED: {record['change']}: {record['gaps']}, which no official rule refuses")
    print(
        f"{folder}: {len(records)} records with a change, at least {LEAST} are expected; the official rules refuse {refused}, of which the service"
        f" names all but {unnamed}; it alone refuses by {dict(stricter)}"
    )
    return len(records) >= LEAST and refused >= LEAST // 2 and not unnamed and not faulty


def xmls(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.xml"), key=lambda path: int(path.stem))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: gaps.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
