"""Faults planted into a PDF that holds an invoice: the checks of `container.py` find each of them.

The PDF is made here, as small as the checks allow: it is no document that anybody could read.
"""

import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from pypdf import PdfWriter
from pypdf.generic import (
    ArrayObject,
    BooleanObject,
    DecodedStreamObject,
    DictionaryObject,
    NameObject,
    NumberObject,
    TextStringObject,
)

import container

XML = (Path(__file__).parent / "samples" / "invoice.xml").read_bytes()
TITLE = "Facture FAC-2026-0042"
DATE = "D:20261126090000Z"
PROPERTY = """<rdf:li rdf:parseType="Resource"><pdfaProperty:name>{}</pdfaProperty:name>
<pdfaProperty:valueType>Text</pdfaProperty:valueType><pdfaProperty:category>external</pdfaProperty:category>
<pdfaProperty:description>One of the properties of Factur-X</pdfaProperty:description></rdf:li>"""
EXTENSION = f"""<rdf:Description rdf:about=""><pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>{container.XMP["fx"]}</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq>{"".join(map(PROPERTY.format, container.PROPERTIES))}</rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description>"""
VALUES = "".join(f"<fx:{name}>{value}</fx:{name}>" for name, value in container.PROPERTIES.items())
NAMESPACES = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in container.XMP.items())
XMP = f"""<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {NAMESPACES}>
<rdf:Description rdf:about=""><dc:title><rdf:Alt><rdf:li xml:lang="x-default">{TITLE}</rdf:li></rdf:Alt></dc:title>
<xmp:CreateDate>2026-11-26T09:00:00Z</xmp:CreateDate><xmp:ModifyDate>2026-11-26T09:00:00Z</xmp:ModifyDate>
<pdfaid:part>3</pdfaid:part><pdfaid:conformance>A</pdfaid:conformance><pdfuaid:part>1</pdfuaid:part></rdf:Description>
{EXTENSION}
<rdf:Description rdf:about="">{VALUES}</rdf:Description></rdf:RDF></x:xmpmeta>"""


def dictionary(**entries) -> DictionaryObject:
    return DictionaryObject({NameObject(f"/{name}"): value for name, value in entries.items()})


def stream(data: bytes, **entries) -> DecodedStreamObject:
    made = DecodedStreamObject()
    made.set_data(data)
    made.update(dictionary(**entries))
    return made


def valid() -> PdfWriter:
    """A PDF without a fault."""
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.add_metadata({"/Title": TITLE, "/CreationDate": DATE, "/ModDate": DATE})
    params = dictionary(ModDate=TextStringObject(DATE), Size=NumberObject(len(XML)))
    xml = writer._add_object(
        stream(XML, Type=NameObject("/EmbeddedFile"), Subtype=NameObject("/text/xml"), Params=params)
    )
    name = TextStringObject(container.FILE_NAME)
    file = writer._add_object(
        dictionary(
            Type=NameObject("/Filespec"),
            F=name,
            UF=name,
            AFRelationship=NameObject("/Alternative"),
            Desc=TextStringObject("Factur-X"),
            EF=dictionary(F=xml, UF=xml),
        )
    )
    writer.root_object.update(
        dictionary(
            AF=ArrayObject([file]),
            Names=dictionary(EmbeddedFiles=dictionary(Names=ArrayObject([name, file]))),
            MarkInfo=dictionary(Marked=BooleanObject(True)),
            StructTreeRoot=writer._add_object(dictionary(Type=NameObject("/StructTreeRoot"))),
            Lang=TextStringObject("fr-FR"),
        )
    )
    set_xmp(writer, XMP)
    return writer


def set_xmp(writer: PdfWriter, text: str):
    metadata = stream(text.encode(), Type=NameObject("/Metadata"), Subtype=NameObject("/XML"))
    writer.root_object[NameObject("/Metadata")] = writer._add_object(metadata)


def file_of(writer: PdfWriter) -> DictionaryObject:
    return writer.root_object["/AF"][0].get_object()


def xml_of(writer: PdfWriter) -> DictionaryObject:
    return file_of(writer)["/EF"]["/F"].get_object()


def relationship(name: str) -> Callable:
    return lambda writer: file_of(writer).update(dictionary(AFRelationship=NameObject(name)))


def replace(old: str, new: str) -> Callable:
    """Another XMP."""
    if old not in XMP:
        raise LookupError(old)
    return lambda writer: set_xmp(writer, XMP.replace(old, new))


def replace_xml(writer: PdfWriter):
    xml_of(writer).set_data(XML.replace(b"8754.79", b"8754.97"))
    del xml_of(writer)["/Params"]["/Size"]


def issued_later(writer: PdfWriter):
    """An XML of another day than the file."""
    xml_of(writer).set_data(XML.replace(b">20261126<", b">20261127<", 1))


def second_file(writer: PdfWriter):
    name = TextStringObject("other.xml")
    other = dictionary(F=name, UF=name, EF=file_of(writer)["/EF"])
    writer.root_object["/AF"].append(writer._add_object(other))


def undecodable_page(writer: PdfWriter):
    """Readers look at no page."""
    damaged = writer._add_object(stream(b"no deflated data"))
    damaged.get_object().update(dictionary(Filter=NameObject("/FlateDecode")))
    writer.pages[0][NameObject("/Contents")] = damaged


FAULTS = {
    "relationship /Data": ("attachment_is_described", relationship("/Data")),
    "relationship /Unspecified": ("attachment_is_described", relationship("/Unspecified")),
    "no relationship": ("attachment_is_described", lambda writer: file_of(writer).pop("/AFRelationship")),
    "no date on the attachment": ("attachment_is_described", lambda writer: xml_of(writer)["/Params"].pop("/ModDate")),
    "type application/xml": (
        "attachment_is_described",
        lambda writer: xml_of(writer).update(dictionary(Subtype=NameObject("/application/xml"))),
    ),
    "another name": (
        "attachment_is_described",
        lambda writer: file_of(writer).update(dictionary(UF=TextStringObject("facture.xml"))),
    ),
    "no /AF": ("attachment_is_associated", lambda writer: writer.root_object.pop("/AF")),
    "two associated files": ("attachment_is_associated", second_file),
    "not in the tree of names": ("attachment_is_associated", lambda writer: writer.root_object.pop("/Names")),
    "other bytes": ("xml_is_found_by_others", replace_xml),
    "two bags of extension schemas": ("extension_is_declared_once", replace(EXTENSION, EXTENSION * 2)),
    "no extension schema": ("extension_is_declared_once", replace(EXTENSION, "")),
    "a property that is not declared": (
        "extension_is_declared_once",
        replace(PROPERTY.format("Version"), ""),
    ),
    "another prefix": (
        "extension_is_declared_once",
        replace("<pdfaSchema:prefix>fx<", "<pdfaSchema:prefix>zf<"),
    ),
    "profile BASIC": ("properties_are_right", replace(">EN 16931</fx:", ">BASIC</fx:")),
    "no version": ("properties_are_right", replace("<fx:Version>1.0</fx:Version>", "")),
    "an old namespace": (
        "properties_are_right",
        replace(container.XMP["fx"], "urn:zugferd:pdfa:CrossIndustryDocument:invoice:1p0#"),
    ),
    "PDF/A-3b": ("standards_are_declared", replace("<pdfaid:conformance>A<", "<pdfaid:conformance>B<")),
    "no PDF/UA": ("standards_are_declared", replace("<pdfuaid:part>1</pdfuaid:part>", "")),
    "not tagged": ("standards_are_declared", lambda writer: writer.root_object.pop("/StructTreeRoot")),
    "another title in the XMP": ("titles_are_one", replace(TITLE, "Facture FAC-2026-0043")),
    "another title in Info": (
        "titles_are_one",
        lambda writer: writer.add_metadata({"/Title": "Facture"}),
    ),
    "another day in the XMP": ("dates_are_one", replace("<xmp:CreateDate>2026-11-26", "<xmp:CreateDate>2026-11-27")),
    "no date in the XMP": ("dates_are_one", replace("<xmp:ModifyDate>2026-11-26T09:00:00Z</xmp:ModifyDate>", "")),
    "another hour in Info": ("dates_are_one", lambda writer: writer.add_metadata({"/ModDate": "D:20261126100000Z"})),
    "another day on the attachment": (
        "dates_are_one",
        lambda writer: xml_of(writer)["/Params"].update(dictionary(ModDate=TextStringObject("D:20261127090000Z"))),
    ),
    "another day everywhere": ("dates_are_one", issued_later),
    "a page that cannot be decoded": ("structure_is_sound", undecodable_page),
    "XMP that is no XML": ("properties_are_right", replace("</x:xmpmeta>", "")),
}


def pdf_of(writer: PdfWriter) -> bytes:
    output = BytesIO()
    writer.write(output)
    return output.getvalue()


def missed(name: str, finder: str, plant: Callable) -> bool:
    """Whether a planted fault passes unseen."""
    writer = valid()
    plant(writer)
    found = {fault.split(":")[0] for fault in container.faults(pdf_of(writer), XML)}
    if finder in found:
        return False
    print(f"NOT FOUND: {name}: {finder} does not see it; found by {found or 'nothing'}")
    return True


def check_faults() -> bool:
    """True if the PDF without a fault passes, and each planted fault is found."""
    untried = {rule.__name__ for rule in container.CHECKS} - {finder for finder, _ in FAULTS.values()}
    for name in untried:
        print(f"NOT TRIED: no fault is planted for {name}")
    found = container.faults(pdf_of(valid()), XML)
    for fault in found:
        print(f"the PDF without a fault: {fault}")
    unseen = sum(missed(name, finder, plant) for name, (finder, plant) in FAULTS.items())
    print(f"faults of the PDF: {len(FAULTS)}, missed {unseen}")
    return not (found or unseen or untried)


def main():
    sys.exit(not check_faults())


if __name__ == "__main__":
    main()
