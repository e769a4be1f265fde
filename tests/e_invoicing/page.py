"""The page against its XML: `page.py <folder>`.

The text of each `*.pdf`, as `pdftotext` reads it, has what the `*.xml` of the same name says: number, dates, parties,
lines, totals, retention, references and legal notices. Schema, rules and oracle look at the XML alone, and a reader at the
page alone, so this is the only check that both are the same invoice.

The page may have more, such as subtotals and a telephone number; what the law asks for it has exactly if the XML does.
"""

import functools
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from lxml import etree

import cii
import oracle
from edits import LINE, NOTE, SHARE, add_to, remove, write

TITLES = {oracle.INVOICE: ("Facture", "Total TTC"), oracle.CREDIT_NOTE: ("Avoir", "Total TTC de l’avoir")}
# The line at the foot of each page.
FOOTER = re.compile(r"^(.*) — page \d+ / \d+$", re.MULTILINE)
# The text that follows the description of a line if no code is the unit.
OWN_UNIT = re.compile(r"(?:^|\n)Unité : (.*)$")
# Units that the page writes in one way only; another code stands for several words.
UNITS = {"MTK": "m²", "MTQ": "m³", "HUR": "h", "KGM": "kg"}
# The label of the address that BG-8 is, if it is not the client's own.
BILLING = "Adresse de facturation "
# The only one of the notes that stands elsewhere on the page than among the legal notices.
REASON = "Motif : "
PLACE = f"{cii.BG_25}/ram:SpecifiedTradeProduct/ram:ApplicableProductCharacteristic/ram:Value"
SITE = cii.DELIVERY + "ram:ShipToTradeParty/ram:PostalTradeAddress/"
ADDRESS = ("ram:PostcodeCode", "ram:LineOne", "ram:LineTwo", "ram:LineThree", "ram:CityName")


def words(text: str) -> str:
    """A text with plain spaces, one between two words: how lines are broken is up to the page."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Page:
    """The text of a PDF in reading order, with the parts of it in which texts are looked for."""

    text: str

    @classmethod
    def of(cls, pdf: Path) -> "Page":
        told = subprocess.run(["pdftotext", "-raw", pdf, "-"], capture_output=True, check=True)
        text = told.stdout.decode().replace("\f", "\n")
        # The head of a page is its footer without the place among the pages.
        heads = set(FOOTER.findall(text))
        lines = FOOTER.sub("", text).split("\n")
        return cls("\n".join(line for line in lines if line not in heads))

    @functools.cached_property
    def words(self) -> str:
        return words(self.text)

    def between(self, start: str, *ends: str) -> str:
        """The words from a line on, up to the first of other lines; all of them if there is none."""
        _, found, rest = self.text.partition(f"\n{start}\n")
        if not found:
            return ""
        stops = [at for end in ends if (at := rest.find(f"\n{end}")) >= 0]
        return words(rest[: min(stops, default=len(rest))])

    @property
    def company(self) -> str:
        return words(self.text.partition("\nDate\n")[0])

    @property
    def client(self) -> str:
        return self.between("Client", "Désignation ", "Avoir sur la facture ")

    @property
    def legal_notices(self) -> str:
        return self.between("Mentions", "Conditions\n")


def figure(value: str, least_places: int = 0) -> str:
    """A number in French notation, with plain spaces."""
    number = Decimal(value).normalize()
    if number.as_tuple().exponent > -least_places:
        number = number.quantize(Decimal(1).scaleb(-least_places))
    sign = "−" if number < 0 else ""
    return sign + format(abs(number), ",f").replace(",", " ").replace(".", ",")


def amount(value: str) -> str:
    return f"{figure(value, 2)} €"


def percent(value: str) -> str:
    return f"{figure(value)} %"


def day(text: str) -> str:
    """A date in words."""
    found = oracle.day(text)
    return f"{found.day if found.day > 1 else '1er'} {oracle.MONTHS[found.month - 1]} {found.year}"


def grouped(digits: str, *lengths: int) -> str:
    """Digits in groups; the last group has what is left."""
    groups, left = [], digits
    for length in lengths:
        groups.append(left[:length])
        left = left[length:]
    return " ".join([*groups, left])


def shown(place: str, expected: str | None, label: str) -> Iterator[str]:
    """A labelled text: on the page if there is one, and without one not even its label."""
    if expected is None and label in place:
        yield f"the page has {label!r}, the XML has nothing for it"
    if expected is not None and f"{label}{expected}" not in place:
        yield f"the page has no {label}{expected}"


def title_is_shown(invoice, page: Page) -> Iterator[str]:
    title, _ = TITLES[oracle.kind_of(invoice)]
    if not page.words.startswith(f"{title} {cii.text(invoice, cii.BT_1)} "):
        yield f"the page does not begin with {title} {cii.text(invoice, cii.BT_1)}"


def dates_are_shown(invoice, page: Page) -> Iterator[str]:
    """Date, due date, and supply: the page names the day of supply if it is not the date."""
    head = page.text.partition("\nClient\n")[0]
    issued, due, supplied = (cii.text(invoice, path) for path in (cii.BT_2, cii.BT_9, cii.BT_72))
    start, end = cii.text(invoice, cii.BT_73), cii.text(invoice, cii.BT_74)
    yield from shown(words(head), day(issued), " Date ")
    asked, paid = oracle.asks_for_payment(invoice), oracle.is_paid(invoice)
    yield from shown(words(head), day(due) if due and asked else None, " Échéance ")
    yield from shown(page.words, day(due) if due and asked else None, " Au plus tard le ")
    yield from shown(words(head), day(due) if due and paid else None, " Acquittée le ")
    label = " Date de livraison " if cii.text(invoice, cii.BT_23).startswith("B") else " Date de réalisation "
    yield from shown(words(head), day(supplied) if supplied != issued else None, label)
    yield from shown(words(head), start and f"du {day(start)} au {day(end)}", " Période ")


def company_is_shown(invoice, page: Page) -> Iterator[str]:
    siret = cii.text(invoice, cii.BT_29)
    if cii.text(invoice, cii.BT_30) != siret[:9]:
        yield "BT-30 is not the SIREN of the SIRET that the page has"
    yield from shown(page.company, grouped(siret, 3, 3, 3), " SIRET : ")
    yield from shown(page.company, cii.text(invoice, cii.BT_31), " N° TVA : ")
    legal = cii.text(invoice, cii.SELLER + "ram:Description") or ""
    address = [cii.text(invoice, cii.SELLER + f"ram:PostalTradeAddress/{part}") for part in ADDRESS]
    for text in [cii.text(invoice, cii.BT_27), *legal.split(", "), *filter(None, address)]:
        if words(text) not in page.company:
            yield f"the page has no {text!r} of the company"


def client_is_shown(invoice, page: Page) -> Iterator[str]:
    siren = cii.text(invoice, cii.BT_47)
    yield from shown(page.client, siren and grouped(siren, 3, 3), " SIREN : ")
    yield from shown(page.client, cii.text(invoice, cii.BT_48), " N° TVA : ")
    if cii.nodes(invoice, cii.BT_49)[0].get("schemeID") == "EM":
        yield from shown(page.client, cii.text(invoice, cii.BT_49), " E-mail : ")
    if words(cii.text(invoice, cii.BT_44)) not in page.client:
        yield f"the page has no {cii.text(invoice, cii.BT_44)!r} of the client"
    _, found, billing = page.client.partition(BILLING)
    for part in ADDRESS:
        text = cii.text(invoice, cii.BUYER + f"ram:PostalTradeAddress/{part}")
        if text and words(text) not in (billing if found else page.client):
            yield f"the page has no {text!r} of the address that the document is made out to"


def site_is_shown(invoice, page: Page) -> Iterator[str]:
    label = "Livraison" if (cii.text(invoice, cii.BT_23) or "").startswith("B") else "Chantier"
    site = page.between(label, "Client\n", "Désignation ")
    parts = [part for part in (cii.text(invoice, SITE + part) for part in ADDRESS) if part]
    if bool(site) != bool(parts):
        yield f"the work site is {site!r} on the page, {parts} in the XML"
    for text in parts:
        if words(text) not in site:
            yield f"the page has no {text!r} of the work site"


def references_are_shown(invoice, page: Page) -> Iterator[str]:
    """The quote, the client's order and the credited invoice."""
    yield from shown(page.words, cii.text(invoice, cii.BT_12), " Référence Devis ")
    yield from shown(page.words, cii.text(invoice, cii.BT_13), " Votre commande ")
    credited = cii.nodes(invoice, cii.BG_3)
    names = [f"{cii.text(one, cii.BT_25)} du {day(cii.text(one, cii.BT_26))}" for one in credited]
    yield from shown(page.words, names[0] if names else None, " Avoir sur la facture ")


def lines_are_shown(invoice, page: Page) -> Iterator[str]:
    """Each line in its order: all of its description, quantity, price, rate and total."""
    _, _, table = page.words.partition(" Prix unitaire Total " if is_exempt(invoice) else " Total HT ")
    for index, line in enumerate(cii.nodes(invoice, cii.BG_25), 1):
        found = re.search(row(line), table)
        if found is None:
            yield f"the page has no line {index}: {row(line)}"
        else:
            table = table[found.end() :]


def is_exempt(invoice) -> bool:
    """True for an invoice in franchise, whose page has no word of VAT but the reason."""
    return {cii.text(share, cii.BT_118) for share in cii.nodes(invoice, cii.BG_23)} == {"E"}


def row(line) -> str:
    """The expression of a line of the table. Only VAT that is charged has a column."""
    more = cii.text(line, cii.BT_154) or ""
    described = words(f"{cii.text(line, cii.BT_153)} {OWN_UNIT.sub('', more)}")
    quantity, price, rate, total = (
        cii.text(line, path) for path in (cii.BT_129, cii.BT_146, cii.BT_152, cii.BT_131)
    )
    charged = f"{percent(rate)} " if cii.text(line, cii.BT_151) == "S" else ""
    begin, end = f"{described} {figure(quantity)} ", f"{amount(price)} {charged}{amount(total)}"
    own, code = OWN_UNIT.search(more), cii.nodes(line, cii.BT_129)[0].get("unitCode")
    unit = own[1] if own else UNITS.get(code)
    between = rf"{re.escape(words(unit))} " if unit else r"([^€\d]{1,40} )?"
    return re.escape(begin) + between + re.escape(end)


def places_are_shown(invoice, page: Page) -> Iterator[str]:
    """The lots and sections of the lines."""
    for name in set(cii.texts(invoice, PLACE)):
        if words(name) not in page.words:
            yield f"the page has no lot or section {name!r}"


def totals_are_shown(invoice, page: Page) -> Iterator[str]:
    """Total without VAT, VAT by rate, total with VAT, retention, and the rest to pay: nothing between them."""
    kind, gross = oracle.kind_of(invoice), cii.text(invoice, cii.BT_112)
    rows, total = [f"Total HT {amount(cii.text(invoice, cii.BT_109))}"], TITLES[kind][1]
    for share in cii.nodes(invoice, cii.BG_23):
        rate, base, vat = (cii.text(share, path) for path in (cii.BT_119, cii.BT_116, cii.BT_117))
        if cii.text(share, cii.BT_118) == "S":
            rows.append(f"TVA {percent(rate)} sur {amount(base)} {amount(vat)}")
        else:
            rows.append(f"TVA due par le preneur (autoliquidation) {amount(vat)}")
            total = total.replace(" TTC", "")
    rows = [] if is_exempt(invoice) else rows
    rows.append(f"{total} {amount(gross)}")
    retained = oracle.retention(cii.text(invoice, cii.BT_20) or "")
    net = amount(str(Decimal(gross) - (retained[1] if retained else 0)))
    if retained:
        held = amount(str(-retained[1]))
        rows += [f"Retenue de garantie {percent(str(retained[0]))} {held}", f"Net à payer {net}"]
    elif re.search(r"Retenue de garantie \d", page.words):
        yield "the page has a retention, the XML has none"
    if oracle.is_paid(invoice):
        paid = f"Acquittée le {day(cii.text(invoice, cii.BT_2))} {amount(str(-Decimal(gross)))}"
        rows += [paid, f"Net à payer {amount('0')}"]
    if " ".join(rows) not in page.words:
        yield f"the page has no totals {' | '.join(rows)}"
    prepaid = cii.text(invoice, cii.BT_113) or "0"
    if Decimal(cii.text(invoice, cii.BT_115)) != Decimal(gross) - Decimal(prepaid):
        yield "BT-115 is not BT-112 without BT-113, as the page demands it"
    asked = kind == oracle.INVOICE and oracle.asks_for_payment(invoice)
    yield from shown(page.words, net if asked else None, " Règlement Net à payer ")


def account_is_shown(invoice, page: Page) -> Iterator[str]:
    """The account; the page also asks those who pay otherwise for the number."""
    iban = cii.text(invoice, cii.BG_16 + "//ram:IBANID")
    groups = iban and " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
    yield from shown(page.words, groups, " IBAN ")
    yield from shown(page.words, cii.text(invoice, cii.BG_16 + "//ram:BICID"), " BIC ")
    reference = cii.text(invoice, cii.BT_83)
    if reference is not None:
        yield from shown(page.words, reference, " Référence à rappeler ")


def notices_are_shown(invoice, page: Page) -> Iterator[str]:
    """The legal notices of the page are the notes of the XML in their order; those about payment are for businesses."""
    found = cii.nodes(invoice, cii.BG_1)
    notes = [(cii.text(note, "ram:SubjectCode"), cii.text(note, "ram:Content")) for note in found]
    by_code = dict(notes)
    expected = [text for code, text in notes if code is None and not text.startswith(REASON)]
    if by_code.get("BAR") == "B2B":
        expected += [by_code.get(code, "") for code in ("PMD", "PMT", "AAB")]
    if page.legal_notices != words(" ".join(expected)):
        yield f"the legal notices are {page.legal_notices!r} on the page, {words(' '.join(expected))!r} in the XML"


def reason_is_shown(invoice, page: Page) -> Iterator[str]:
    reasons = [text for text in cii.texts(invoice, cii.BG_1 + "/ram:Content") if text.startswith(REASON)]
    reason = words(reasons[0].removeprefix(REASON)) if reasons else None
    yield from shown(page.words, reason, f" {REASON}")


CHECKS = (
    title_is_shown,
    dates_are_shown,
    company_is_shown,
    client_is_shown,
    site_is_shown,
    references_are_shown,
    lines_are_shown,
    places_are_shown,
    totals_are_shown,
    account_is_shown,
    notices_are_shown,
    reason_is_shown,
)


def faults(invoice, page: Page) -> list[str]:
    """All differences between a page and its XML, each with the check that found it."""
    return [f"{check.__name__}: {fault}" for check in CHECKS for fault in check(invoice, page)]


# Changes of the XML, each with the check that finds it. One applies to a document that has the term.
PLAIN_NOTE = cii.BG_1 + "[not(ram:SubjectCode)]"
UNREASONED = f"{PLAIN_NOTE}[not(starts-with(ram:Content, '{REASON}'))]"
REASONED = f"{PLAIN_NOTE}[starts-with(ram:Content, '{REASON}')]"
ROLL = f"{cii.BG_25}/{cii.BT_154}[. = 'Unité : rouleau']"


def rewrite(path: str, text: str) -> Callable:
    return lambda root: write(root, path, text)


def increase(path: str, amount: str = "0.01") -> Callable:
    return lambda root: add_to(root, path, amount)


def drop(path: str) -> Callable:
    return lambda root: remove(root, path)


def other_type(root):
    write(root, cii.BT_3, oracle.INVOICE if cii.nodes(root, cii.BG_3) else oracle.CREDIT_NOTE)


def other_order(root):
    first, second = (cii.nodes(root, LINE.format(index).rstrip("/"))[0] for index in (1, 2))
    second.addnext(first)


def other_unit(root):
    cii.nodes(root, LINE.format(1) + cii.BT_129)[0].set("unitCode", "KGM")


def reword(code: str) -> Callable:
    """Another note about payment, of which only a business reads."""
    return rewrite(NOTE.format(code) + "[../../ram:IncludedNote/ram:Content = 'B2B']", "Non.")


FAULTS: dict[str, tuple[str, Callable]] = {
    "another number": ("title_is_shown", rewrite(cii.BT_1, "FAC-2026-9999")),
    "another type": ("title_is_shown", other_type),
    "another date": ("dates_are_shown", rewrite(cii.BT_2, "20260913")),
    "another due date": ("dates_are_shown", rewrite(cii.BT_9, "20261015")),
    "no due date": ("dates_are_shown", drop(cii.TERMS + "ram:DueDateDateTime")),
    "another day of supply": ("dates_are_shown", rewrite(cii.BT_72, "20260902")),
    "another start of the period": ("dates_are_shown", rewrite(cii.BT_73, "20260902")),
    "another end of the period": ("dates_are_shown", rewrite(cii.BT_74, "20260902")),
    "no period": ("dates_are_shown", drop(cii.SETTLEMENT + "ram:BillingSpecifiedPeriod")),
    "another SIRET": ("company_is_shown", rewrite(cii.BT_29, "73282932000066")),
    "another SIREN of the company": ("company_is_shown", rewrite(cii.BT_30, "404833048")),
    "another VAT number of the company": ("company_is_shown", rewrite(cii.BT_31, "FR39356000000")),
    "no VAT number of the company": ("company_is_shown", drop(cii.BT_31)),
    "another name of the company": ("company_is_shown", rewrite(cii.BT_27, "Atelier Léo Martin")),
    "another legal form": ("company_is_shown", rewrite(cii.SELLER + "ram:Description", "SAS")),
    "another street of the company": ("company_is_shown", rewrite(cii.SELLER + "*/ram:LineOne", "13 rue des Métiers")),
    "another SIREN of the client": ("client_is_shown", rewrite(cii.BT_47, "404833048")),
    "no SIREN of the client": ("client_is_shown", drop(cii.BT_47)),
    "another VAT number of the client": ("client_is_shown", rewrite(cii.BT_48, "FR83404833048")),
    "no VAT number of the client": ("client_is_shown", drop(cii.BT_48)),
    "another e-mail": ("client_is_shown", rewrite(cii.BT_49 + "[@schemeID='EM']", "lea@batir.example")),
    "another client": ("client_is_shown", rewrite(cii.BT_44, "Bâtir & Filles")),
    "another town of the client": ("client_is_shown", rewrite(cii.BUYER + "*/ram:CityName", "Brest")),
    "the seat in place of the billing address": (
        "client_is_shown",
        rewrite(cii.BUYER + "*[ram:LineTwo]/ram:LineOne", "3 place Royale"),
    ),
    "another work site": ("site_is_shown", rewrite(SITE + "ram:LineOne", "5 quai de la Fosse")),
    "no work site": ("site_is_shown", drop(cii.DELIVERY + "ram:ShipToTradeParty")),
    "another quote": ("references_are_shown", rewrite(cii.BT_12, "DEV-2026-0043")),
    "no quote": ("references_are_shown", drop(cii.AGREEMENT + "ram:ContractReferencedDocument")),
    "another order": ("references_are_shown", rewrite(cii.BT_13, "PO-2026/0042")),
    "no order": ("references_are_shown", drop(cii.AGREEMENT + "ram:BuyerOrderReferencedDocument")),
    "another credited invoice": ("references_are_shown", rewrite(f"{cii.BG_3}/{cii.BT_25}", "FAC-2026-0040")),
    "another date of the credited invoice": ("references_are_shown", rewrite(f"{cii.BG_3}/{cii.BT_26}", "20260830")),
    "no credited invoice": ("references_are_shown", drop(cii.BG_3)),
    "another name of a line": ("lines_are_shown", rewrite(LINE.format("last()") + cii.BT_153, "Moquette")),
    "another description of a line": ("lines_are_shown", rewrite(LINE.format(1) + cii.BT_154, "Trois couches")),
    "another quantity": ("lines_are_shown", increase(LINE.format(1) + cii.BT_129)),
    "another price": ("lines_are_shown", increase(LINE.format("last()") + cii.BT_146)),
    "another rate of a line": ("lines_are_shown", rewrite(LINE.format(1) + cii.BT_152, "7")),
    "another total of a line": ("lines_are_shown", increase(LINE.format("last()") + cii.BT_131)),
    "another unit": ("lines_are_shown", other_unit),
    "another unit without a code": ("lines_are_shown", rewrite(ROLL, "Unité : m")),
    "lines in another order": ("lines_are_shown", other_order),
    "another lot": ("places_are_shown", rewrite(f"{PLACE}[. = 'Lot 1 Finitions']", "Lot 3")),
    "another section": ("places_are_shown", rewrite(f"{PLACE}[. = 'Séjour']", "Cuisine")),
    "another total without VAT": ("totals_are_shown", increase(cii.BT_109)),
    "another rate": ("totals_are_shown", rewrite(SHARE.format(1) + cii.BT_119, "7")),
    "another base of a rate": ("totals_are_shown", increase(SHARE.format("last()") + cii.BT_116)),
    "another VAT": ("totals_are_shown", increase(SHARE.format("last()") + cii.BT_117)),
    "a rate missing": ("totals_are_shown", drop(SHARE.format(1).rstrip("/"))),
    "another total": ("totals_are_shown", increase(cii.BT_112)),
    "another total to pay": ("totals_are_shown", increase(cii.BT_115)),
    "no retention": ("totals_are_shown", rewrite(cii.BT_20 + "[contains(., 'Retenue')]", "À payer.")),
    "another IBAN": ("account_is_shown", rewrite(cii.BG_16 + "//ram:IBANID", "FR1420041010050500013M02606")),
    "another BIC": ("account_is_shown", rewrite(cii.BG_16 + "//ram:BICID", "PSSTFRPPNTE")),
    "no account": ("account_is_shown", drop(cii.BG_16)),
    "another reference of the payment": ("account_is_shown", rewrite(cii.BT_83, "FAC-2026-0040")),
    "a notice missing": ("notices_are_shown", drop(f"{UNREASONED}[last()]")),
    "the first notice missing": ("notices_are_shown", drop(f"{UNREASONED}[1]")),
    "all notices missing": ("notices_are_shown", drop(UNREASONED)),
    "another notice": ("notices_are_shown", rewrite(f"{UNREASONED}[last()]/ram:Content", "Assurance : aucune")),
    "a private client as a business": ("notices_are_shown", rewrite(NOTE.format("BAR") + "[. = 'B2C']", "B2B")),
    "a business as a private client": ("notices_are_shown", rewrite(NOTE.format("BAR") + "[. = 'B2B']", "B2C")),
    **{f"another note {code}": ("notices_are_shown", reword(code)) for code in ("PMD", "PMT", "AAB")},
    "another reason": ("reason_is_shown", rewrite(f"{REASONED}/ram:Content", "Motif : autre")),
    "no reason": ("reason_is_shown", drop(REASONED)),
}


def not_on_the_page(invoice) -> set[str]:
    """The faults in terms that a page without VAT does not have."""
    categories = {cii.text(share, cii.BT_118) for share in cii.nodes(invoice, cii.BG_23)}
    if "S" in categories:
        return set()
    rates = {"another rate of a line", "another rate", "another base of a rate"}
    return rates | {"another total without VAT", "another VAT"} if is_exempt(invoice) else rates


def check_faults(documents: list[tuple[bytes, Page]]) -> bool:
    """Plants each fault into each document that has the term; true if the check that it is for always finds it."""
    checks = {check.__name__: check for check in CHECKS}
    untried = checks.keys() - {finder for finder, _ in FAULTS.values()}
    tried, missed = Counter(), 0
    for xml, page in documents:
        skipped = not_on_the_page(cii.parse(xml))
        for name, (finder, plant) in FAULTS.items():
            if name in skipped:
                continue
            root = cii.parse(xml)
            try:
                plant(root)
            except LookupError:
                continue
            if etree.tostring(root, method="c14n") == etree.tostring(cii.parse(xml), method="c14n"):
                continue
            tried[name] += 1
            if not list(checks[finder](root, page)):
                missed += 1
                print(f"NOT FOUND on the page {page.words[:30]!r}: {name}: {finder} does not see it")
    for name in [*(FAULTS.keys() - tried.keys()), *untried]:
        print(f"NOT TRIED: {name}")
    print(f"faults between page and XML: {len(FAULTS)}, planted {tried.total()} times, missed {missed}")
    return not (missed or untried) and len(tried) == len(FAULTS)


def check_folder(folder: Path) -> bool:
    """Compares each `*.pdf` of a folder with the XML beside it, then plants faults; true if only these are found."""
    if shutil.which("pdftotext") is None:
        print("pdftotext is missing: the pages cannot be read")
        return False
    paths = sorted(folder.glob("*.pdf"))
    documents = [(path.with_suffix(".xml").read_bytes(), Page.of(path)) for path in paths]
    faulty = 0
    for path, (xml, page) in zip(paths, documents, strict=True):
        found = faults(cii.parse(xml), page)
        faulty += bool(found)
        for fault in found:
            print(f"{path.name}: {fault}")
    print(f"{folder}: {len(paths)} pages compared with their XML, {faulty} differ")
    return not faulty and (not paths or check_faults(documents))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: page.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
