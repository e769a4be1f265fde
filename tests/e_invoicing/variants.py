"""Invoices of the other kinds, made from the samples: valid, so that no check refuses what it should let pass."""

from collections.abc import Callable

from lxml import etree

import cii
from edits import LINE, NOTE, SHARE, remove, sample, write

RAM, QDT, UDT = (f"{{{cii.NAMES[prefix]}}}" for prefix in ("ram", "qdt", "udt"))


def reference(root, number: str, day: str):
    """Names another invoice (BG-3)."""
    settlement = cii.nodes(root, cii.SETTLEMENT.rstrip("/"))[0]
    named = etree.SubElement(settlement, RAM + "InvoiceReferencedDocument")
    etree.SubElement(named, RAM + "IssuerAssignedID").text = number
    date = etree.SubElement(
        etree.SubElement(named, RAM + "FormattedIssueDateTime"), QDT + "DateTimeString", format="102"
    )
    date.text = day


def drop_retention(root):
    write(root, cii.BT_20, "À payer au plus tard le 26 décembre 2026.")


def keep_first_line(root, total: str):
    """One line only, with a quantity of 1, without VAT."""
    for index in (4, 3, 2):
        remove(root, cii.BG_25 + f"[{index}]")
    remove(root, cii.BG_23 + "[2]")
    write(root, LINE.format(1) + cii.BT_129, "1")
    write(root, LINE.format(1) + cii.BT_146, total)
    write(root, LINE.format(1) + cii.BT_131, total)
    write(root, SHARE.format(1) + cii.BT_116, total)
    for path in (cii.BT_106, cii.BT_109, cii.BT_112, cii.BT_115):
        write(root, path, total)


def without_vat(root, category: str, code: str, reason: str):
    keep_first_line(root, "1000")
    drop_retention(root)
    write(root, cii.BT_110, "0")
    share = cii.nodes(root, cii.BG_23)[0]
    write(share, cii.BT_117, "0")
    write(share, cii.BT_118, category)
    write(share, cii.BT_119, "0")
    remove(share, cii.BT_8)
    for place, path, text in ((1, "ExemptionReason", reason), (4, "ExemptionReasonCode", code)):
        node = etree.Element(RAM + path)
        node.text = text
        share.insert(place + 1, node)
    write(root, LINE.format(1) + cii.BT_151, category)
    write(root, LINE.format(1) + cii.BT_152, "0")


def deposit(root):
    write(root, cii.BT_3, "386")
    drop_retention(root)


def deposit_for_goods(root):
    deposit(root)
    write(root, cii.BT_23, "B1")


def final_invoice(root):
    write(root, cii.BT_23, "S4")
    write(root, LINE.format(4) + cii.BT_153, "Acompte FAC-2026-0040 du 3 novembre 2026")
    reference(root, "FAC-2026-0040", "20261103")


def progress(root):
    """The second of two, with the period of the works."""
    reference(root, "FAC-2026-0040", "20261103")
    period = etree.Element(RAM + "BillingSpecifiedPeriod")
    for name, day in (("StartDateTime", "20261101"), ("EndDateTime", "20261126")):
        text = etree.SubElement(etree.SubElement(period, RAM + name), UDT + "DateTimeString", format="102")
        text.text = day
    cii.nodes(root, cii.BG_23)[-1].addnext(period)


def closing_progress(root):
    """The last of a contract, which takes a cent that the ones before have left."""
    progress(root)
    drop_retention(root)
    write(root, SHARE.format(2) + cii.BT_117, "147.17")
    write(root, cii.BT_110, "519.19")
    write(root, cii.BT_112, "8754.8")
    write(root, cii.BT_115, "8754.8")


def option_for_debits(root):
    write(root, cii.BG_23 + "/" + cii.BT_8, "5")


def goods(root):
    write(root, cii.BT_23, "B1")
    remove(root, cii.BG_23 + "/" + cii.BT_8)


def goods_and_services(root):
    write(root, cii.BT_23, "M1")


def franchise(root):
    without_vat(root, "E", "VATEX-FR-FRANCHISE", "TVA non applicable, art. 293 B du CGI")
    registration = cii.nodes(root, cii.BT_31)[0]
    registration.set("schemeID", "FC")
    registration.text = "732829320"


def reverse_charge(root):
    without_vat(root, "AE", "VATEX-FR-AE", "Autoliquidation")


def private_client(root):
    write(root, NOTE.format("BAR"), "B2C")
    remove(root, cii.BUYER + "ram:SpecifiedLegalOrganization")
    remove(root, cii.BUYER + "ram:SpecifiedTaxRegistration")
    address = cii.nodes(root, cii.BT_49)[0]
    address.set("schemeID", "EM")
    address.text = "syndic@peupliers.example"


def no_account(root):
    remove(root, cii.BG_16)
    remove(root, cii.BT_83)


def paid(root):
    """Paid with its issue."""
    no_account(root)
    write(root, cii.BT_23, "S2")
    write(root, cii.BT_9, cii.text(root, cii.BT_2))
    write(root, cii.BT_20, "Acquittée le 26 novembre 2026.")
    due = cii.nodes(root, cii.BT_115)[0]
    prepaid = etree.Element(RAM + "TotalPrepaidAmount")
    prepaid.text, due.text = due.text, "0"
    due.addprevious(prepaid)


def closing_credit_note(root):
    """The last of an invoice: the half cent that it would round up is taken."""
    write(root, SHARE.format(1) + cii.BT_117, "93")
    write(root, cii.BT_110, "93")
    write(root, cii.BT_112, "1784")
    write(root, cii.BT_115, "1784")


VARIANTS: dict[str, tuple[str, Callable]] = {
    "deposit": ("invoice", deposit),
    "deposit for goods": ("invoice", deposit_for_goods),
    "final invoice": ("invoice", final_invoice),
    "progress": ("invoice", progress),
    "closing progress": ("invoice", closing_progress),
    "option for débits": ("invoice", option_for_debits),
    "goods": ("invoice", goods),
    "goods and services": ("invoice", goods_and_services),
    "franchise": ("invoice", franchise),
    "reverse charge": ("invoice", reverse_charge),
    "private client": ("invoice", private_client),
    "no account": ("invoice", no_account),
    "paid": ("invoice", paid),
    "closing credit note": ("credit_note", closing_credit_note),
}


def documents() -> dict[str, bytes]:
    """The variants by their names."""
    made = {}
    for name, (source, change) in VARIANTS.items():
        root = sample(source)
        change(root)
        made[name] = etree.tostring(root, encoding="UTF-8", xml_declaration=True)
    return made
