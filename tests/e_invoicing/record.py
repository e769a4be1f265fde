"""The record against its XML: `record.py <folder>`.

Beside `<name>.xml`, `<name>.json` has what the record of the invoice or credit note holds. The oracle finds an XML that
is wrong in itself; this finds one that is another invoice. Numbers are texts, so that they are exact:

    number, type (380, 386 or 381), totalHT, totalTTC, vat: [{rate, base, amount}],
    lines: [{description, quantity, unitPrice, totalHT, rate}]

and, if the test writes them: issueDate, dueDate, suppliedOn (null for the day of issue), periodStart, periodEnd,
currency, clientName, orderNumber, billingCity (null for the client's own address), invoiceNumber (the credited invoice),
retentionRate and retentionAmount.
"""

import json
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import cii
import oracle

# Characters that XML cannot hold; the writer leaves them out.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def words(text: str | None) -> str:
    """A text as its words: how lines are broken is up to the writer."""
    return " ".join(FORBIDDEN.sub("", text or "").split())


def compact(day: str | None) -> str | None:
    """A date as CII has it."""
    return day and day.replace("-", "")


def decimals(place, *paths: str) -> list[Decimal]:
    return [Decimal(cii.text(place, path)) for path in paths]


# Fields that are terms as they are, and those that are dates.
TERMS = {
    "number": cii.BT_1,
    "type": cii.BT_3,
    "currency": cii.BT_5,
    "clientName": cii.BT_44,
    "orderNumber": cii.BT_13,
    "invoiceNumber": cii.BG_3 + "/" + cii.BT_25,
}
DATES = {
    "issueDate": cii.BT_2,
    "dueDate": cii.BT_9,
    "suppliedOn": cii.BT_72,
    "periodStart": cii.BT_73,
    "periodEnd": cii.BT_74,
}
LINE_FIGURES = {"quantity": cii.BT_129, "unitPrice": cii.BT_146, "totalHT": cii.BT_131, "rate": cii.BT_152}
SHARE_FIGURES = {"rate": cii.BT_119, "base": cii.BT_116, "amount": cii.BT_117}


def figures_of(record: dict, names) -> list[Decimal]:
    return [Decimal(record[name]) for name in names]


def date_of(record: dict, name: str) -> str | None:
    """A date; the supply is on the day of issue unless the record has another one."""
    return record[name] or (record["issueDate"] if name == "suppliedOn" else None)


def terms_are_the_record(invoice, record: dict) -> Iterator[str]:
    for name, path in TERMS.items():
        if name in record and words(cii.text(invoice, path)) != words(record[name]):
            yield f"{path} is {cii.text(invoice, path)!r}, the record has {record[name]!r}"
    for name, path in DATES.items():
        if name in record and cii.text(invoice, path) != compact(date_of(record, name)):
            yield f"{path} is {cii.text(invoice, path)!r}, the record has {record[name]!r}"


def billing_address_is_the_record(invoice, record: dict) -> Iterator[str]:
    city, found = record.get("billingCity"), cii.text(invoice, cii.BUYER + "ram:PostalTradeAddress/ram:CityName")
    if city is not None and found != city:
        yield f"the town of BG-8 is {found!r}, that of the billing address {city!r}"


def totals_are_the_record(invoice, record: dict) -> Iterator[str]:
    found = decimals(invoice, cii.BT_109, cii.BT_110, cii.BT_112)
    net, gross = figures_of(record, ("totalHT", "totalTTC"))
    if found != [net, gross - net, gross]:
        yield f"BT-109, BT-110 and BT-112 are {found}, the record has {net}, {gross - net} and {gross}"
    shares = sorted(decimals(share, *SHARE_FIGURES.values()) for share in cii.nodes(invoice, cii.BG_23))
    expected = sorted(figures_of(share, SHARE_FIGURES) for share in record["vat"])
    if shares != expected:
        yield f"BG-23 are {shares}, the record has {expected}"


def lines_are_the_record(invoice, record: dict) -> Iterator[str]:
    lines = cii.nodes(invoice, cii.BG_25)
    if len(lines) != len(record["lines"]):
        yield f"{len(lines)} lines, the record has {len(record['lines'])}"
        return
    for index, (line, expected) in enumerate(zip(lines, record["lines"], strict=True), 1):
        found, figures = decimals(line, *LINE_FIGURES.values()), figures_of(expected, LINE_FIGURES)
        if found != figures:
            yield f"line {index} has {found}, the record {figures}"
        text = words(f"{cii.text(line, cii.BT_153)} {cii.text(line, cii.BT_154) or ''}")
        # The unit follows, if it has no code.
        if not text.startswith(words(expected["description"])):
            yield f"line {index} is {text!r}, the record has {expected['description']!r}"


def retention_is_the_record(invoice, record: dict) -> Iterator[str]:
    if "retentionAmount" not in record:
        return
    found = oracle.retention(cii.text(invoice, cii.BT_20) or "")
    rate, amount = figures_of(record, ("retentionRate", "retentionAmount"))
    if found != ((rate, amount) if amount else None):
        yield f"BT-20 retains {found}, the record has {amount}, {rate} %"


CHECKS = (
    terms_are_the_record,
    billing_address_is_the_record,
    totals_are_the_record,
    lines_are_the_record,
    retention_is_the_record,
)


def faults(xml: bytes, record: dict) -> list[str]:
    """All differences between an XML and its record, each with the check that found it."""
    invoice = cii.parse(xml)
    return [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(invoice, record)]


def check_folder(folder: Path) -> bool:
    """Compares each `*.json` of a folder with the XML beside it and prints the differences; true if there are none."""
    paths, faulty = sorted(folder.glob("*.json")), 0
    for path in paths:
        found = faults(path.with_suffix(".xml").read_bytes(), json.loads(path.read_bytes()))
        for fault in found:
            print(f"{path.name}: {fault}")
        faulty += bool(found)
    print(f"{folder}: {len(paths)} records compared with their XML, {faulty} differ")
    return not faulty


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: record.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
