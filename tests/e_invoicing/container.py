"""The PDF around the XML: `container.py <folder>`.

Each `*.pdf` is one file of PDF/A-3a and PDF/UA-1 with `factur-x.xml` attached as Factur-X demands. Validators of
PDF/A take any relationship and any text of the XMP about the invoice, so these are read here. Beside `<name>.pdf`,
`<name>.xml` holds the bytes that were to be attached.
"""

import logging
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import facturx
from lxml import etree
from pypdf import PdfReader
from pypdf.errors import PyPdfError

import cii

FILE_NAME = "factur-x.xml"
PDF_DATE = re.compile(r"D:20\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])([01]\d|2[0-3])[0-5]\d[0-5]\d(Z|[+-]\d\d'\d\d'?)?")
XMP = {
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "xmp": "http://ns.adobe.com/xap/1.0/",
    "pdfaid": "http://www.aiim.org/pdfa/ns/id/",
    "pdfuaid": "http://www.aiim.org/pdfua/ns/id/",
    "pdfaExtension": "http://www.aiim.org/pdfa/ns/extension/",
    "pdfaSchema": "http://www.aiim.org/pdfa/ns/schema#",
    "pdfaProperty": "http://www.aiim.org/pdfa/ns/property#",
    "fx": "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#",
}
PROPERTIES = {
    "DocumentType": "INVOICE",
    "DocumentFileName": FILE_NAME,
    "Version": "1.0",
    "ConformanceLevel": "EN 16931",
}
IDENTIFICATION = {"pdfaid:part": "3", "pdfaid:conformance": "A", "pdfuaid:part": "1"}


class Container:
    """A PDF with the parts that the checks read."""

    def __init__(self, pdf: bytes, sidecar: bytes | None = None):
        self.pdf = pdf
        self.sidecar = sidecar
        self.reader = PdfReader(BytesIO(pdf), strict=True)
        self.catalog = self.reader.trailer["/Root"]

    def xmp(self):
        if "/Metadata" not in self.catalog:
            raise ValueError("the PDF has no XMP")
        return etree.fromstring(self.catalog["/Metadata"].get_data(), cii.PARSER)

    def associated(self) -> list:
        """The files of `/AF`."""
        return [entry.get_object() for entry in self.catalog.get("/AF", [])]

    def xml(self) -> bytes:
        """The bytes of the attached file."""
        return self.associated()[0]["/EF"]["/F"].get_object().get_data()


def values(xmp, name: str) -> list[str]:
    """The values of a property, as elements or as attributes."""
    nodes = xmp.xpath(f"//rdf:Description/{name}", namespaces=XMP)
    return [node.text or "" for node in nodes] + xmp.xpath(f"//rdf:Description/@{name}", namespaces=XMP)


def attachment_is_associated(container: Container) -> Iterator[str]:
    """One entry in `/AF`, and the same one in the tree of names."""
    files = container.associated()
    if len(files) != 1:
        yield f"/AF has {len(files)} entries, not one"
        return
    names = names_of_files(container)
    if names != [FILE_NAME]:
        yield f"the tree of names has {names}, not {FILE_NAME}"
    elif embedded_files(container)[1].get_object() != files[0]:
        yield "/AF and the tree of names are about different files"


def embedded_files(container: Container) -> list:
    """The tree of names of attached files, flat: names and files in turn."""
    tree = container.catalog.get("/Names", {}).get("/EmbeddedFiles", {})
    found, left = [], [tree.get_object() if tree else {}]
    while left:
        node = left.pop(0)
        found += node.get("/Names", [])
        left += [kid.get_object() for kid in node.get("/Kids", [])]
    return found


def names_of_files(container: Container) -> list[str]:
    return [str(name) for name in embedded_files(container)[0::2]]


def attachment_is_described(container: Container) -> Iterator[str]:
    """Name, relationship, type and date of the attached file."""
    for file in container.associated():
        if file.get("/F") != FILE_NAME or file.get("/UF") != FILE_NAME:
            yield f"/F is {file.get('/F')!r} and /UF {file.get('/UF')!r}, not {FILE_NAME}"
        if file.get("/AFRelationship") != "/Alternative":
            yield f"/AFRelationship is {file.get('/AFRelationship')}, not /Alternative"
        if not file.get("/Desc"):
            yield "/Desc is missing"
        stream = file["/EF"]["/F"].get_object()
        if stream.get("/Subtype") != "/text/xml":
            yield f"/Subtype is {stream.get('/Subtype')}, not text/xml"
        changed = stream.get("/Params", {}).get("/ModDate")
        if changed is None or not PDF_DATE.fullmatch(changed):
            yield f"/ModDate is {changed!r}, no date"
        size = stream.get("/Params", {}).get("/Size")
        if size is not None and size != len(stream.get_data()):
            yield f"/Size is {size}, the file has {len(stream.get_data())} bytes"


def extension_is_declared_once(container: Container) -> Iterator[str]:
    """One bag of extension schemas: a second one makes the XMP unreadable. It declares the four properties."""
    xmp = container.xmp()
    bags = xmp.xpath("//pdfaExtension:schemas", namespaces=XMP)
    if len(bags) != 1 or len(bags[0].xpath("rdf:Bag", namespaces=XMP)) != 1:
        yield f"pdfaExtension:schemas is there {len(bags)} times, not once with one bag"
    schema = f"//rdf:li[pdfaSchema:namespaceURI='{XMP['fx']}']"
    if len(xmp.xpath(schema, namespaces=XMP)) != 1:
        yield f"the schema of Factur-X is declared {len(xmp.xpath(schema, namespaces=XMP))} times, not once"
    prefixes = [node.text for node in xmp.xpath(f"{schema}/pdfaSchema:prefix", namespaces=XMP)]
    if prefixes != ["fx"]:
        yield f"its prefix is {prefixes}, not fx"
    names = [node.text for node in xmp.xpath(f"{schema}//pdfaProperty:name", namespaces=XMP)]
    if sorted(names) != sorted(PROPERTIES):
        yield f"it declares {names}, not {list(PROPERTIES)}"


def properties_are_right(container: Container) -> Iterator[str]:
    xmp = container.xmp()
    for name, expected in PROPERTIES.items():
        if values(xmp, f"fx:{name}") != [expected]:
            yield f"fx:{name} is {values(xmp, f'fx:{name}')}, not {expected}"
    elements = xmp.xpath(f"//*[namespace-uri()='{XMP['fx']}']")
    attributes = xmp.xpath(f"//@*[namespace-uri()='{XMP['fx']}']")
    if len(elements) + len(attributes) != len(PROPERTIES):
        yield f"{len(elements) + len(attributes)} properties of Factur-X, not {len(PROPERTIES)}"


def standards_are_declared(container: Container) -> Iterator[str]:
    xmp = container.xmp()
    for name, expected in IDENTIFICATION.items():
        if values(xmp, name) != [expected]:
            yield f"{name} is {values(xmp, name)}, not {expected}"
    if not container.catalog.get("/MarkInfo", {}).get("/Marked") or "/StructTreeRoot" not in container.catalog:
        yield "the PDF is not tagged"
    if not container.catalog.get("/Lang"):
        yield "the PDF has no language"


def titles_are_one(container: Container) -> Iterator[str]:
    """The title of the XMP is the one of Info, and names the document."""
    titles = container.xmp().xpath("//dc:title/rdf:Alt/rdf:li/text()", namespaces=XMP)
    info = container.reader.metadata.title if container.reader.metadata else None
    if len(set(titles)) != 1 or titles[0] != info:
        yield f"the titles of the XMP are {titles}, the one of Info is {info!r}"
    number = cii.text(cii.parse(container.xml()), cii.BT_1)
    if number is None or number not in (info or ""):
        yield f"the title {info!r} does not name {number}"


def digits(date: str | None) -> str:
    """The year to the second of a date, of a PDF or of XMP."""
    return re.sub(r"\D", "", date or "")[:14]


def dates_are_one(container: Container) -> Iterator[str]:
    """Info, XMP and attachment have one instant, on the day of issue."""
    info, xmp = container.reader.trailer.get("/Info", {}), container.xmp()
    params = container.associated()[0]["/EF"]["/F"].get_object()["/Params"]
    found = {f"{name} of Info": digits(info.get(name)) for name in ("/CreationDate", "/ModDate")}
    found |= {name: digits("".join(values(xmp, name))) for name in ("xmp:CreateDate", "xmp:ModifyDate")}
    found["/ModDate of the attachment"] = digits(params.get("/ModDate"))
    if len(set(found.values())) != 1:
        yield f"the dates differ: {found}"
    issued = cii.text(cii.parse(container.xml()), cii.BT_2)
    yield from (f"{name} is {date}, not on {issued}" for name, date in found.items() if date[:8] != issued)


def xml_is_found_by_others(container: Container) -> Iterator[str]:
    """A reader that is not ours finds the attached bytes, and they are those of the sidecar."""
    name, found = facturx.get_facturx_xml_from_pdf(container.pdf, check_xsd=True)
    if name != FILE_NAME:
        yield f"another reader finds {name!r}, not {FILE_NAME}"
    elif found != container.xml():
        yield "another reader finds other bytes"
    if container.sidecar is not None and container.xml() != container.sidecar:
        yield "the attached bytes are not those of the file beside the PDF"


def structure_is_sound(container: Container) -> Iterator[str]:
    """qpdf has nothing against the file."""
    with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
        file.write(container.pdf)
        file.flush()
        told = subprocess.run(["qpdf", "--check", file.name], capture_output=True, check=False)
    if told.returncode != 0:
        yield f"qpdf: {(told.stdout + told.stderr).decode(errors='replace')}"


CHECKS = (
    attachment_is_associated,
    attachment_is_described,
    extension_is_declared_once,
    properties_are_right,
    standards_are_declared,
    titles_are_one,
    dates_are_one,
    xml_is_found_by_others,
    structure_is_sound,
)
UNREADABLE = (ValueError, LookupError, AttributeError, TypeError, PyPdfError, etree.XMLSyntaxError)


def faults(pdf: bytes, sidecar: bytes | None = None) -> list[str]:
    """All faults of a PDF, each with the check that found it."""
    try:
        container = Container(pdf, sidecar)
    except UNREADABLE as error:
        return [f"readable: {error}"]
    found = []
    for check in CHECKS:
        try:
            found += [f"{check.__name__}: {fault}" for fault in check(container)]
        except UNREADABLE as error:
            found.append(f"{check.__name__}: cannot be read: {error!r}")
    return found


def check_folder(folder: Path) -> bool:
    """Checks each `*.pdf` of a folder and prints the faults; true if there are none."""
    logging.disable(logging.WARNING)
    if shutil.which("qpdf") is None:
        print("qpdf is missing: the structure of the files cannot be checked")
        return False
    paths, faulty, sidecars = sorted(folder.glob("*.pdf")), 0, 0
    for path in paths:
        beside = path.with_suffix(".xml")
        sidecar = beside.read_bytes() if beside.exists() else None
        found = faults(path.read_bytes(), sidecar)
        faulty += bool(found)
        sidecars += sidecar is not None
        for fault in found:
            print(f"{path.name}: {fault}")
    print(f"{folder}: {len(paths)} PDFs, {sidecars} of them with their XML beside them, {faulty} with faults")
    return not faulty


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: container.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
