"""Official schema and rules over a folder of invoices: `check.py <folder>`.

Each `*.xml` is checked with the schema of Factur-X EN 16931, with its rules, with the French rules (BR-FR, flux 2),
and with the rules of the extended French profile, as they hold those of the European norm that the first leave out:
code lists, terms that may not be there, and BR-CO-25. All of them come with the package `factur-x`. A rule that
fails, a warning that is not listed and an error of the engine are findings alike, and so is a run in which next to no
rule was looked at, as it proves nothing.
"""

import functools
import importlib.metadata
import multiprocessing
import os
import re
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import facturx
from lxml import etree
from saxonche import PySaxonApiError, PySaxonProcessor

import cii

RULES = Path(facturx.__file__).parent / "xsd_and_schematron"
SCHEMA = RULES / "facturx-en16931" / "Factur-X_EN16931.xsd"
STYLESHEETS = {
    "Factur-X": RULES / "facturx-en16931" / "FACTUR-X_EN16931.xslt",
    "BR-FR": RULES / "cii-schematron-fr-ctc" / "BR-FR-Flux2-Schematron-CII.xslt",
    "CTC-FR": RULES / "cii-extended-ctc-fr" / "EXTENDED-CTC-FR-CII.xslt",
}
# Rules that every run looks at. Valid invoices reach 58 and more of the French ones.
LEAST_FIRED = dict.fromkeys(STYLESHEETS, 50)
# Warnings that are known and harmless, by their id: in the extended profile lines have a reason for no VAT of their
# own, and these look for it.
KNOWN_WARNINGS = {"BR-FXEXT-E-08rev", "BR-FXEXT-AE-08rev"}
SVRL = {"svrl": "http://purl.oclc.org/dsdl/svrl"}
PROCESSES = 2
# Findings of one rule that are printed; the summary counts them all.
SHOWN = 10


@dataclass(frozen=True)
class Finding:
    """What one check has against a document."""

    check: str
    rule: str
    text: str

    def __str__(self):
        return f"{self.check}: {self.rule}: {self.text}"


@dataclass
class Result:
    """What the official checks say of a document."""

    findings: list[Finding] = field(default_factory=list)
    fired: dict[str, int] = field(default_factory=dict)
    warnings: Counter = field(default_factory=Counter)


class Validator:
    """The schema and the compiled rules: 1 s to make, milliseconds for each document."""

    def __init__(self):
        self.schema = etree.XMLSchema(file=str(SCHEMA))
        self.processor = PySaxonProcessor(license=False)
        compiler = self.processor.new_xslt30_processor()
        self.rules = {
            name: compiler.compile_stylesheet(stylesheet_file=str(path)) for name, path in STYLESHEETS.items()
        }

    def validate(self, xml: bytes) -> Result:
        result = Result()
        try:
            root = cii.parse(xml)
        except etree.XMLSyntaxError as error:
            result.findings.append(Finding("XML", "well-formed", str(error)))
            return result
        if not self.schema.validate(root):
            for error in self.schema.error_log:
                result.findings.append(Finding("XSD", error.type_name, f"line {error.line}: {error.message}"))
        for name in self.rules:
            self.run_rules(name, xml, result)
        return result

    def run_rules(self, name: str, xml: bytes, result: Result):
        try:
            report = self.report(name, xml)
        except (PySaxonApiError, etree.XMLSyntaxError, UnicodeDecodeError, TypeError) as error:
            result.findings.append(Finding(name, "engine", one_line(str(error))))
            return
        fired = len(report.findall("svrl:fired-rule", SVRL))
        result.fired[name] = fired
        if fired < LEAST_FIRED[name]:
            text = f"{fired} rules fired, at least {LEAST_FIRED[name]} are expected"
            result.findings.append(Finding(name, "fired", text))
        # A report that succeeds has found what it looks for: a fault, as a failed assertion.
        for fault in report.iterfind("svrl:failed-assert", SVRL):
            add(name, fault, result)
        for fault in report.iterfind("svrl:successful-report", SVRL):
            add(name, fault, result)

    def report(self, name: str, xml: bytes):
        """The outcome of the rules, as SVRL."""
        document = self.processor.parse_xml(xml_text=xml.decode())
        output = self.rules[name].transform_to_string(xdm_node=document)
        if output is None:
            raise PySaxonApiError("the rules have no outcome")
        return etree.fromstring(output.encode(), cii.PARSER)


def add(check: str, fault, result: Result):
    """Files a fault under findings, or under warnings if it is a known one."""
    text = one_line(" ".join(fault.itertext()))
    rule = fault.get("id") or (re.search(r"\[?([A-Z]+(?:-[A-Z0-9]+)+)", text) or ["unnamed"])[0]
    flag = fault.get("flag") or fault.get("role") or "fatal"
    if flag == "warning" and rule in KNOWN_WARNINGS:
        result.warnings[rule] += 1
        return
    result.findings.append(Finding(check, rule, f"{flag}: {text} at {fault.get('location')}"))


def one_line(text: str) -> str:
    return " ".join(text.split())


validator: Validator | None = None


def start_worker():
    global validator
    validator = Validator()
    # The engine prints each of its errors with a trace. They come back as findings.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def validate_in_worker(xml: bytes) -> Result:
    return validator.validate(xml)


@functools.cache
def workers() -> ProcessPoolExecutor:
    """As many processes as there are cores for. Each takes a second to start."""
    # The engine does not survive a fork.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(min(PROCESSES, os.cpu_count() or 1), context, start_worker)


def validate_all(documents: list[bytes]) -> list[Result]:
    """The results of many documents, in their order."""
    return list(workers().map(validate_in_worker, documents, chunksize=5))


def check_folder(folder: Path) -> bool:
    """Checks each `*.xml` of a folder and prints what was found; true if nothing was."""
    paths = sorted(folder.glob("*.xml"))
    if not paths:
        print(f"{folder}: no XML to check")
        return False
    begun = time.monotonic()
    results = validate_all([path.read_bytes() for path in paths])
    seconds = time.monotonic() - begun
    shown = Counter()
    for path, result in zip(paths, results, strict=True):
        for finding in result.findings:
            shown[finding.check, finding.rule] += 1
            if shown[finding.check, finding.rule] <= SHOWN:
                print(f"{path.name}: {finding}")
    summarize(folder, results, seconds)
    return not any(result.findings for result in results)


def summarize(folder: Path, results: list[Result], seconds: float):
    findings = sum(len(result.findings) for result in results)
    faulty = sum(bool(result.findings) for result in results)
    rules = Counter(f"{finding.check} {finding.rule}" for result in results for finding in result.findings)
    print(f"{folder}: {len(results)} documents, {findings} findings in {faulty} of them, {seconds:.1f} s")
    for rule, count in rules.most_common():
        print(f"  {count} × {rule}")
    for name in STYLESHEETS:
        fired = [result.fired[name] for result in results if name in result.fired]
        if fired:
            print(f"  {name}: {min(fired)} to {max(fired)} rules fired")
    for rule, count in sum((result.warnings for result in results), Counter()).items():
        print(f"  known warning {rule}: {count}")
    print(f"  factur-x {importlib.metadata.version('factur-x')}, {PySaxonProcessor(license=False).version}")


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
