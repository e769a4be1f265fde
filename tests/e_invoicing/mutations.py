"""Faults planted into valid invoices: the checks of the checks.

Each fault of a list is planted by itself, with everything that depends on it, as a wrong program would write it.
Faults that the official checks are known not to see must be found by the oracle; those that show that the official
checks work, by the check that is named. 200 random changes then show how much the two see.
"""

import copy
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from lxml import etree

import check
import cii
import oracle
import record as record_module
import variants
from edits import LINE, NOTE, SAMPLES, SHARE, add_to, remove, sample, write

RANDOM_CHANGES = 200
SEED = 20_270_901


@dataclass(frozen=True)
class Fault:
    """A fault, the sample that it is planted into, and the check that must find it."""

    name: str
    sample: str
    finder: str
    plant: Callable


FAULTS: list[Fault] = []


def fault(name: str, finder: str, sample: str = "invoice"):
    """Adds a function that plants a fault to the list."""

    def add(plant):
        FAULTS.append(Fault(name, sample, finder, plant))
        return plant

    return add


def add_vat(root, share: int, amount: str):
    """VAT of a rate that is off, and all totals with it."""
    add_to(root, SHARE.format(share) + cii.BT_117, amount)
    for path in (cii.BT_110, cii.BT_112, cii.BT_115):
        add_to(root, path, amount)


def rename_seller(root, siren: str):
    """Another SIREN in all places that hold it, with a VAT number that follows from it."""
    write(root, cii.BT_30, siren)
    write(root, cii.BT_29, f"{siren}00074")
    write(root, cii.BT_31, oracle.vat_number(siren))
    write(root, cii.BT_34, siren)


def terms(retention: str) -> str:
    """BT-20 with a retention."""
    return f"À payer au plus tard le 26 décembre 2026.\nRetenue de garantie {retention} (loi n° 71-584)"


# Not seen by the official checks.


@fault("quantity × price is another amount than the total", "lines_multiply")
def quantity(root):
    write(root, LINE.format(2) + cii.BT_129, "43.75")


@fault("line total rounded down at half a cent", "lines_multiply")
def half_a_cent(root):
    # 0.5 × 1208.33 is 604.165, which rounds to 604.17.
    write(root, LINE.format(3) + cii.BT_129, "0.5")
    write(root, LINE.format(3) + cii.BT_146, "1208.33")


@fault("VAT off by a cent", "vat_is_exact")
def vat_off_by_a_cent(root):
    add_vat(root, 2, "0.01")


@fault("VAT off by 0.90 €", "vat_is_exact")
def vat_off_by_a_euro(root):
    add_vat(root, 1, "-0.9")


@fault("VAT of two rates off by a cent each, the total right", "vat_is_exact")
def vat_shifted(root):
    add_vat(root, 1, "0.01")
    add_vat(root, 2, "-0.01")


@fault("VAT of a closing document off by 5 cents", "vat_is_exact", "credit_note")
def closing_too_much(root):
    add_vat(root, 1, "0.05")


for code in ("PMT", "PMD", "AAB"):

    @fault(f"note {code} without a text", "notes_have_their_text")
    def empty_note(root, code=code):
        write(root, NOTE.format(code), "")

    @fault(f"note {code} of spaces", "notes_have_their_text")
    def blank_note(root, code=code):
        write(root, NOTE.format(code), "   ")

    @fault(f"note {code} of a dot", "notes_have_their_text", "credit_note")
    def dotted_note(root, code=code):
        write(root, NOTE.format(code), ".")


@fault("note PMT without the 40 €", "notes_have_their_text")
def no_forty_euros(root):
    write(root, NOTE.format("PMT"), "Indemnité forfaitaire pour frais de recouvrement")


@fault("SIREN of the seller with a wrong check digit", "seller_exists")
def seller_without_luhn(root):
    rename_seller(root, "732829321")


@fault("SIREN of the buyer with a wrong check digit", "buyer_exists")
def buyer_without_luhn(root):
    for path, text in ((cii.BT_47, "123456789"), (cii.BT_49, "123456789")):
        write(root, path, text)
    write(root, cii.BT_48, oracle.vat_number("123456789"))


@fault("SIREN with spaces around it", "seller_exists")
def padded_siren(root):
    write(root, cii.BT_30, " 732829320 ")


@fault("SIREN of the buyer with spaces around it", "buyer_exists")
def padded_siren_of_buyer(root):
    write(root, cii.BT_47, "123456782 ")


@fault("SIRET with a wrong check digit", "seller_exists")
def siret(root):
    write(root, cii.BT_29, "73282932000075")


@fault("VAT number with a wrong key", "seller_exists")
def vat_key(root):
    write(root, cii.BT_31, "FR45732829320")


@fault("VAT number of the buyer with a wrong key", "buyer_exists")
def vat_key_of_buyer(root):
    write(root, cii.BT_48, "FR12123456782")


@fault("VAT number of another business", "seller_exists")
def vat_number_of_another(root):
    write(root, cii.BT_31, oracle.vat_number("123456782"))


@fault("profile that is nonsense", "profile_is_exact")
def nonsense_profile(root):
    write(root, cii.BT_24, "urn:example:none")


@fault("profile with another one added", "profile_is_exact")
def extended_profile(root):
    write(root, cii.BT_24, "urn:cen.eu:en16931:2017#conformant#urn:example:none")


@fault("credit note in the frame of an invoice net of deposits", "frame_fits_the_type", "credit_note")
def credit_note_in_s4(root):
    write(root, cii.BT_23, "S4")


@fault("invoice turned into a credit note", "references_are_complete")
def type_381(root):
    write(root, cii.BT_3, "381")


@fault("credit note turned into an invoice", "number_is_of_its_series", "credit_note")
def type_380(root):
    write(root, cii.BT_3, "380")


@fault("invoice in S4 without a deposit", "frame_fits_the_type")
def s4_without_a_deposit(root):
    write(root, cii.BT_23, "S4")


@fault("invoice in S2 without a payment", "frame_fits_the_type")
def s2_without_a_payment(root):
    write(root, cii.BT_23, "S2")


@fault("payment with the issue in S1", "frame_fits_the_type")
def payment_in_s1(root):
    variants.paid(root)
    write(root, cii.BT_23, "S1")


@fault("payment of another amount", "totals_add_up")
def other_payment(root):
    variants.paid(root)
    add_to(root, cii.BT_113, "-0.01")
    add_to(root, cii.BT_115, "0.01")


@fault("payment with a demand for it", "terms_name_the_due_date")
def demand_of_what_is_paid(root):
    variants.paid(root)
    write(root, cii.BT_20, "À payer au plus tard le 26 novembre 2026.")


@fault("payment due on a later day", "dates_follow")
def payment_due_later(root):
    variants.paid(root)
    write(root, cii.BT_9, "20261226")


@fault("deposit deducted in S1", "frame_fits_the_type")
def deduction_in_s1(root):
    write(root, LINE.format(4) + cii.BT_153, "Acompte FAC-2026-0040 du 03/11/2026")


@fault("deposit deducted without a reference", "deductions_are_referenced")
def deduction_without_reference(root):
    write(root, LINE.format(4) + cii.BT_153, "Acompte FAC-2026-0040 du 03/11/2026")
    write(root, cii.BT_23, "S4")


@fault("date with something behind it", "dates_are_real")
def suffixed_date(root):
    write(root, cii.BT_2, "20261126XX")


@fault("retention of another amount", "retention_is_computed")
def retention(root):
    write(root, cii.BT_20, terms("5 % : 437,73 €"))


@fault("retention above what the law allows", "retention_is_computed")
def high_retention(root):
    write(root, cii.BT_20, terms("6 % : 525,29 €"))


@fault("retention on a credit note", "retention_is_computed", "credit_note")
def retention_on_credit_note(root):
    write(root, cii.BT_20, "Retenue de garantie 5 % : 89,20 € (loi n° 71-584)")


@fault("retention taken off the amount due", "totals_add_up")
def retention_deducted(root):
    summation = cii.nodes(root, cii.BT_115)[0].getparent()
    due = cii.nodes(root, cii.BT_115)[0]
    prepaid = etree.Element(f"{{{cii.NAMES['ram']}}}TotalPrepaidAmount")
    prepaid.text = "437.74"
    summation.insert(summation.index(due), prepaid)
    due.text = "8317.05"


@fault("retention without the law", "retention_is_computed")
def retention_without_law(root):
    write(root, cii.BT_20, terms("5 % : 437,74 €").replace("loi n° 71-584", "loi"))


@fault("due date of the text is another one", "terms_name_the_due_date")
def due_date_of_text(root):
    write(root, cii.BT_20, "À payer au plus tard le 27 décembre 2026.")


@fault("deposit that is due as with the option for débits", "vat_is_due_as_declared")
def deposit_on_debits(root):
    write(root, cii.BT_3, "386")
    write(root, cii.BG_23 + "/" + cii.BT_8, "5")


@fault("services without a word on when VAT is due", "vat_is_due_as_declared")
def services_without_bt_8(root):
    remove(root, cii.BG_23 + "/" + cii.BT_8)


@fault("due date on a credit note", "dates_follow", "credit_note")
def due_credit_note(root):
    terms = cii.nodes(root, cii.TERMS.rstrip("/"))[0]
    due = etree.SubElement(terms, f"{{{cii.NAMES['ram']}}}DueDateDateTime")
    text = etree.SubElement(due, f"{{{cii.NAMES['udt']}}}DateTimeString", format="102")
    text.text = "20261226"


@fault("reference to an invoice of the future", "dates_follow", "credit_note")
def reference_to_the_future(root):
    write(root, cii.BG_3 + "/" + cii.BT_26, "20261227")


@fault("reference to the document itself", "references_are_complete", "credit_note")
def reference_to_itself(root):
    write(root, cii.BG_3 + "/" + cii.BT_25, "AVO-2026-0003")


@fault("IBAN with a wrong check digit", "payment_can_be_made")
def iban(root):
    write(root, cii.BG_16 + "//ram:IBANID", "FR1420041010050500013M02607")


@fault("reference of the payment is another invoice", "payment_can_be_made")
def payment_reference(root):
    write(root, cii.BT_83, "FAC-2026-0041")


@fault("number of the wrong series", "number_is_of_its_series", "credit_note")
def wrong_series(root):
    write(root, cii.BT_1, "FAC-2026-0043")


@fault("unit that is known elsewhere: millilitres for running metres", "lines_are_plain")
def unit(root):
    for node in cii.nodes(root, LINE.format(2) + cii.BT_129):
        node.set("unitCode", "MLT")


@fault("name of the client with a space behind it", "texts_are_real")
def padded_name(root):
    write(root, cii.BT_44, "Résidence des Peupliers ")


@fault("quote of a number that none has", "quote_is_named")
def quote_number(root):
    write(root, cii.BT_12, "DEV-2026")


@fault("quote of the future", "quote_is_named")
def quote_of_the_future(root):
    write(root, cii.BT_12, "DEV-2027-0001")


@fault("order of more than 50 characters", "order_is_short")
def long_order(root):
    quote = cii.nodes(root, cii.AGREEMENT + "ram:ContractReferencedDocument")[0]
    order = etree.Element(variants.RAM + "BuyerOrderReferencedDocument")
    etree.SubElement(order, variants.RAM + "IssuerAssignedID").text = "9" * 51
    quote.addprevious(order)


@fault("line moved to another rate, all sums left as they were", "rates_add_up")
def line_at_another_rate(root):
    write(root, LINE.format(3) + cii.BT_152, "5.5")


@fault("franchise and VAT in one invoice", "categories_have_their_reason")
def mixed_categories(root):
    write(root, SHARE.format(2) + cii.BT_118, "E")


@fault("franchise with the code of reverse charge", "categories_have_their_reason")
def other_exemption(root):
    variants.franchise(root)
    write(root, cii.BG_23 + "/" + cii.BT_121, "VATEX-FR-AE")


@fault("amounts in another currency", "currency_is_euro")
def dollars(root):
    write(root, cii.BT_5, "USD")
    for node in cii.nodes(root, cii.BT_110):
        node.set("currencyID", "USD")


@fault("SIRET with the scheme of a SIREN", "schemes_are_right")
def scheme(root):
    for node in cii.nodes(root, cii.BT_29):
        node.set("schemeID", "0002")


@fault("client abroad", "parties_have_addresses")
def client_abroad(root):
    write(root, cii.BUYER + "ram:PostalTradeAddress/ram:CountryID", "BE")


# Seen by the official checks, one for each instrument and kind: they work.


@fault("text that is not well-formed", "XML")
def not_well_formed(xml: bytes) -> bytes:
    return xml.replace(b"</ram:TypeCode>", b"</ram:Typecode>", 1)


@fault("element that does not exist", "XSD")
def unknown_element(root):
    etree.SubElement(cii.nodes(root, cii.BT_1)[0].getparent(), f"{{{cii.NAMES['ram']}}}Unknown").text = "1"


@fault("elements in another order", "XSD")
def other_order(root):
    number = cii.nodes(root, cii.BT_1)[0]
    number.getparent().append(number)


@fault("sum of the lines is another one", "Factur-X")
def sum_of_lines(root):
    add_to(root, cii.BT_106, "1")


@fault("VAT off by 20 €", "Factur-X")
def vat_far_off(root):
    add_vat(root, 1, "20")


@fault("total that does not add up", "Factur-X")
def grand_total(root):
    add_to(root, cii.BT_112, "0.01")


@fault("element without content", "Factur-X")
def empty_delivery(root):
    remove(root, cii.DELIVERY + "*")


@fault("unknown unit", "Factur-X")
def unknown_unit(root):
    cii.nodes(root, LINE.format(1) + cii.BT_129)[0].set("unitCode", "QQQQ")


@fault("note PMT missing", "BR-FR")
def no_pmt(root):
    remove(root, cii.BG_1 + "[ram:SubjectCode='PMT']")


@fault("due before it is issued", "BR-FR")
def due_before(root):
    write(root, cii.BT_9, "20261125")


@fault("credit note without the date of its invoice", "BR-FR", "credit_note")
def no_bt_26(root):
    remove(root, cii.BG_3 + "/ram:FormattedIssueDateTime")


@fault("rate that France does not have", "BR-FR")
def unknown_rate(root):
    write(root, SHARE.format(2) + cii.BT_119, "9.99")
    for line in (2, 3, 4):
        write(root, LINE.format(line) + cii.BT_152, "9.99")
    add_vat(root, 2, "-0.15")


@fault("credit note without terms, which the rules of Factur-X let pass", "CTC-FR", "credit_note")
def no_terms(root):
    remove(root, cii.TERMS.rstrip("/"))


@fault("attribute that the norm does not have", "CTC-FR")
def unknown_attribute(root):
    cii.nodes(root, cii.BT_106)[0].set("currencyID", "EUR")


@fault("30th of February", "BR-FR")
def no_such_day(root):
    write(root, cii.BT_2, "20260230")


def planted(fault: Fault) -> bytes:
    """The sample with the fault in it."""
    if fault.finder == "XML":
        return fault.plant((SAMPLES / f"{fault.sample}.xml").read_bytes())
    root = sample(fault.sample)
    fault.plant(root)
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


def check_faults() -> bool:
    """Plants each fault; true if the check that it is for finds it."""
    untried = {rule.__name__ for rule in oracle.CHECKS} - {fault.finder for fault in FAULTS}
    for name in untried:
        print(f"NOT TRIED: no fault is planted for {name}")
    documents = [planted(fault) for fault in FAULTS]
    results = check.validate_all(documents)
    missed, unseen, by_oracle = 0, 0, 0
    for fault, xml, result in zip(FAULTS, documents, results, strict=True):
        official = {finding.check for finding in result.findings}
        own = {found.split(":")[0] for found in oracle.faults(xml)}
        unseen += not official
        by_oracle += bool(own)
        if fault.finder not in official | own:
            missed += 1
            print(f"NOT FOUND: {fault.name}: {fault.finder} does not see it; found by {official | own or 'nothing'}")
    print(
        f"planted faults: {len(FAULTS)}, missed {missed}; the official checks see {len(FAULTS) - unseen},"
        f" the oracle {by_oracle}"
    )
    return not missed and not untried


def check_variants() -> bool:
    """Checks invoices of the other kinds; true if all of them pass."""
    made, refused = variants.documents(), 0
    results = check.validate_all(list(made.values()))
    for (name, xml), result in zip(made.items(), results, strict=True):
        against = [*map(str, result.findings), *oracle.faults(xml)]
        refused += bool(against)
        for finding in against:
            print(f"REFUSED: {name}: {finding}")
    print(f"valid invoices of other kinds: {len(made)}, refused {refused}")
    return not refused


def record_faults() -> list[tuple[str, dict]]:
    """The record of the invoice, each time with one value that is not in its XML."""
    record = json.loads((SAMPLES / "invoice.json").read_bytes())
    first, *others = record["lines"]
    changed = {
        "number": {"number": "FAC-2026-0043"},
        "type": {"type": "386"},
        "date": {"issueDate": "2026-11-27"},
        "due date": {"dueDate": "2026-12-27"},
        "supply": {"suppliedOn": "2026-11-21"},
        "period": {"periodStart": "2026-11-01"},
        "currency": {"currency": "CHF"},
        "client": {"clientName": "Résidence des Tilleuls"},
        "net total": {"totalHT": "8235.6"},
        "total": {"totalTTC": "8754.8"},
        "VAT": {"vat": record["vat"][:1]},
        "retention": {"retentionAmount": "437.75"},
        "no retention": {"retentionRate": "0", "retentionAmount": "0"},
        "line missing": {"lines": others},
        "order of lines": {"lines": [*others, first]},
        "text of a line": {"lines": [first | {"description": "Porte"}, *others]},
        "quantity and price": {"lines": [first | {"quantity": "4", "unitPrice": "1691"}, *others]},
        "rate of a line": {"lines": [first | {"rate": "10"}, *others]},
    }
    return [(name, record | change) for name, change in changed.items()]


def check_record_faults() -> bool:
    """Compares the XML with other records; true if each is told apart."""
    xml, others = (SAMPLES / "invoice.xml").read_bytes(), record_faults()
    missed = [name for name, other in others if not record_module.faults(xml, other)]
    for name in missed:
        print(f"NOT FOUND: record with another value: {name}")
    print(f"records with another value: {len(others)}, missed {len(missed)}")
    return not missed


# Texts that nobody can check, as they may be anything.
FREE_TEXTS = re.compile(
    r"(Name|Description|Content|LineOne|LineTwo|LineThree|CityName|PostcodeCode|Value|CountrySubDivisionName)$"
)


def leaves(root) -> list:
    """The elements that hold a value which is not a free text."""
    found = [node for node in root.iter(etree.Element) if len(node) == 0]
    return [node for node in found if not FREE_TEXTS.search(etree.QName(node).localname)]


def change_digit(root, chance: random.Random) -> str:
    node = chance.choice([node for node in leaves(root) if re.search(r"\d", node.text)])
    at = chance.choice([match.start() for match in re.finditer(r"\d", node.text)])
    other = chance.choice([digit for digit in "0123456789" if digit != node.text[at]])
    before, node.text = node.text, node.text[:at] + other + node.text[at + 1 :]
    return f"{path_of(node)}: {before} → {node.text}"


def change_amount(root, chance: random.Random) -> str:
    node = chance.choice(
        [node for node in leaves(root) if etree.QName(node).localname.endswith(("Amount", "Percent", "Quantity"))]
    )
    change = chance.choice(["0.01", "-0.01", "0.5", "1", "-1", "10"])
    before, node.text = node.text, str(Decimal(node.text) + Decimal(change))
    return f"{path_of(node)}: {before} → {node.text}"


def remove_element(root, chance: random.Random) -> str:
    node = chance.choice([node for node in root.iter(etree.Element) if node.getparent() is not None])
    path = path_of(node)
    node.getparent().remove(node)
    return f"{path}: removed"


def repeat_element(root, chance: random.Random) -> str:
    node = chance.choice([node for node in root.iter(etree.Element) if node.getparent() is not None])
    node.addnext(copy.deepcopy(node))
    return f"{path_of(node)}: repeated"


def empty_text(root, chance: random.Random) -> str:
    node = chance.choice([node for node in root.iter(etree.Element) if len(node) == 0])
    node.text = chance.choice([None, " "])
    return f"{path_of(node)}: emptied"


def pad_text(root, chance: random.Random) -> str:
    node = chance.choice(leaves(root))
    node.text = chance.choice([f" {node.text}", f"{node.text} ", f"{node.text[:1]} {node.text[1:]}"])
    return f"{path_of(node)}: {node.text!r}"


def swap_texts(root, chance: random.Random) -> str:
    one, other = chance.sample(leaves(root), 2)
    one.text, other.text = other.text, one.text
    return f"{path_of(one)} and {path_of(other)}: swapped, {one.text} and {other.text}"


def change_attribute(root, chance: random.Random) -> str:
    node = chance.choice([node for node in root.iter(etree.Element) if node.attrib])
    name = chance.choice(list(node.attrib))
    node.set(name, chance.choice(["0225", "0002", "0009", "VA", "FC", "EM", "USD", "203", "MTK", "C62"]))
    return f"{path_of(node)}: {name} = {node.get(name)}"


CHANGES = (
    change_digit,
    change_amount,
    remove_element,
    repeat_element,
    empty_text,
    pad_text,
    swap_texts,
    change_attribute,
)


def path_of(node) -> str:
    """The last steps to an element, by which a reader finds it."""
    names = [etree.QName(step).localname for step in [*reversed([*node.iterancestors()]), node]]
    return "/".join(names[-3:])


def random_changes() -> list[tuple[str, bytes]]:
    """Changed samples, each with what was changed; the same ones in each run."""
    chance, made = random.Random(SEED), []
    samples = [path.read_bytes() for path in sorted(SAMPLES.glob("*.xml"))]
    unchanged = [etree.tostring(cii.parse(xml), method="c14n") for xml in samples]
    while len(made) < RANDOM_CHANGES:
        which = chance.randrange(len(samples))
        root = cii.parse(samples[which])
        told = chance.choice(CHANGES)(root, chance)
        if etree.tostring(root, method="c14n") != unchanged[which]:
            made.append((told, etree.tostring(root, encoding="UTF-8", xml_declaration=True)))
    return made


def report_random_changes():
    """How many random changes the official checks notice, and how many more the oracle does."""
    changes = random_changes()
    results = check.validate_all([xml for _, xml in changes])
    noticed = Counter()
    for (told, xml), result in zip(changes, results, strict=True):
        official, own = bool(result.findings), bool(oracle.faults(xml))
        crashed = any(finding.rule == "engine" for finding in result.findings)
        noticed["official"] += official
        noticed["crashed"] += crashed
        noticed["added"] += own and not official
        noticed["oracle"] += own
        if not official and not own:
            noticed["unseen"] += 1
            print(f"  seen by none: {told}")
    print(
        f"random changes: {len(changes)}; the official checks notice {noticed['official']} ({noticed['crashed']} by an"
        f" error of the engine), the oracle adds {noticed['added']} and sees {noticed['oracle']} by itself;"
        f" {noticed['unseen']} pass unseen"
    )


def main():
    found_all = check_faults() & check_variants() & check_record_faults()
    report_random_changes()
    sys.exit(not found_all)


if __name__ == "__main__":
    main()
