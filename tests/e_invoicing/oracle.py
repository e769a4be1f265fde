"""Exact oracle of an invoice, from its XML alone: `oracle.py <folder>`.

The official rules accept amounts that are off by a cent per line or a euro of VAT, empty legal notices and identifiers
that cannot exist. Here everything is computed again in decimals, by rules that are stricter than theirs: those of the
documents that this service writes.

Each check is a function that yields the faults of a document as sentences.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from lxml import etree

import cii

INVOICE, DEPOSIT, CREDIT_NOTE = "380", "386", "381"
SERIES = {INVOICE: "FAC", DEPOSIT: "FAC", CREDIT_NOTE: "AVO"}
PROFILE = "urn:cen.eu:en16931:2017"
RATES = {"0.9", "1.05", "1.75", "2.1", "5.5", "7", "8.5", "9.2", "9.6", "10", "13", "19.6", "20", "20.6"}
UNITS = {"C62", "DAY", "HUR", "KGM", "KMT", "LS", "LTR", "MTK", "MTQ", "MTR", "TNE"}
# Parts of France in which VAT is due, by the codes of their addresses.
FRENCH = {"FR", "GP", "MQ", "RE"}
EXEMPTIONS = {"E": "VATEX-FR-FRANCHISE", "AE": "VATEX-FR-AE"}
# Reading of BT-8: paid, with the option for débits.
ON_PAYMENT, ON_DEBITS = "72", "5"
# Most that a closing document takes of the cents that rounding has left, per rate.
CENT = Decimal("0.01")
# Highest retention of the law (loi 71-584, art. 1).
HIGHEST_RETENTION = 5
# Faults of one check that are printed; the summary counts them all.
SHOWN = 10
# Post office, whose establishments have a check of their own.
LA_POSTE = "356000000"

NUMBER = re.compile(r"-?\d+(\.\d+)?")
PLACES = {"amount": 2, "price": 6, "quantity": 4, "rate": 4}
SPACE = "[ \u00a0\u202f]"
RETENTION = re.compile(
    rf"Retenue de garantie (?P<rate>\d+(?:,\d+)?){SPACE}% : "
    rf"(?P<amount>\d{{1,3}}(?:{SPACE}\d{{3}})*,\d{{2}}){SPACE}€ "
)
# The address of a private client, by its scheme: an e-mail, or one of the directory.
PRIVATE_ADDRESSES = {"EM": r"[^@\s]+@[^@\s]+", "0225": r"[A-Za-z0-9+_.-]+"}
DEDUCTION = re.compile(r"Acompte (FAC-20\d\d-\d{4,})\b")
MONTHS = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre".split()
DAY_IN_WORDS = rf"(1er|[1-9]\d?){SPACE}({'|'.join(MONTHS)}){SPACE}(20\d\d)"
DUE_IN_TEXT = re.compile(rf"^À payer au plus tard le {DAY_IN_WORDS}\b")
NOTHING = "Rien à payer."
PAID_IN_TEXT = re.compile(rf"Acquittée le {DAY_IN_WORDS}\.")


def rounded(value: Decimal) -> Decimal:
    """The value in cents, half away from zero."""
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def number(text: str | None, kind: str = "amount") -> Decimal:
    """A plain decimal with as many places as its kind may have."""
    if text is None or not NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no plain decimal")
    _, _, places = text.partition(".")
    if len(places) > PLACES[kind]:
        raise ValueError(f"{text} has more than {PLACES[kind]} places, it is of kind {kind}")
    return Decimal(text)


def day(text: str | None) -> date:
    """A date as CII has it, eight digits and nothing else."""
    if text is None or not re.fullmatch(r"20\d{6}", text):
        raise ValueError(f"{text!r} is no date of the form 20YYMMDD")
    return date(int(text[:4]), int(text[4:6]), int(text[6:]))


def kind_of(invoice) -> str | None:
    return cii.text(invoice, cii.BT_3)


def is_closing(invoice) -> bool:
    """Whether the document may be the last one of others: it names them."""
    return bool(cii.nodes(invoice, cii.BG_3))


def is_paid(invoice) -> bool:
    """Whether an invoice was paid with its issue."""
    return bool(cii.nodes(invoice, cii.BT_113))


def asks_for_payment(invoice) -> bool:
    """Whether an amount is to be paid: not on a credit note, an invoice that is paid, or one of 0."""
    return kind_of(invoice) != CREDIT_NOTE and number(cii.text(invoice, cii.BT_115)) != 0


def luhn(digits: str) -> bool:
    """Whether the check digit is right."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value // 10 + value % 10
    return total % 10 == 0


def is_siren(text: str | None) -> bool:
    return text is not None and re.fullmatch(r"[0-9]{9}", text) is not None and luhn(text)


def is_siret(text: str | None) -> bool:
    if text is None or not re.fullmatch(r"[0-9]{14}", text) or not is_siren(text[:9]):
        return False
    return luhn(text) or (text.startswith(LA_POSTE) and sum(map(int, text)) % 5 == 0)


def vat_number(siren: str) -> str:
    """The French VAT number that follows from a SIREN."""
    return f"FR{(12 + 3 * (int(siren) % 97)) % 97:02}{siren}"


def is_iban(text: str) -> bool:
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(character, 36)) for character in text[4:] + text[:4])) % 97 == 1


def texts_are_real(invoice) -> Iterator[str]:
    """No element without content, none with spaces around it."""
    for node in invoice.iter(etree.Element):
        if len(node) == 0 and (node.text is None or node.text != node.text.strip() or not node.text):
            yield f"{etree.QName(node).localname} is {node.text!r}: empty, or with spaces around it"


def profile_is_exact(invoice) -> Iterator[str]:
    profile = cii.text(invoice, cii.BT_24)
    if profile != PROFILE:
        yield f"BT-24 is {profile!r}, not {PROFILE!r}"


def number_is_of_its_series(invoice) -> Iterator[str]:
    """BT-1 is a number of the series of the type and of the year of issue."""
    text, series = cii.text(invoice, cii.BT_1), SERIES.get(kind_of(invoice))
    if series is None:
        yield f"BT-3 is {kind_of(invoice)!r}, not one of {', '.join(SERIES)}"
    elif not re.fullmatch(rf"{series}-20\d\d-\d{{4,}}", text or ""):
        yield f"BT-1 is {text!r}, not of the form {series}-2026-0001"
    elif int(text[4:8]) != day(cii.text(invoice, cii.BT_2)).year:
        yield f"BT-1 is {text!r}, of another year than BT-2"


def frame_fits_the_type(invoice) -> Iterator[str]:
    """BT-23: a letter and 1, 2 for an invoice paid with its issue, or 4 for one net of deposits."""
    frame, kind = cii.text(invoice, cii.BT_23) or "", kind_of(invoice)
    if not re.fullmatch("[BSM][124]", frame):
        yield f"BT-23 is {frame!r}, not a letter of B, S, M and 1, 2 or 4"
    elif (frame[1] == "2") != is_paid(invoice):
        yield f"BT-23 is {frame}, BT-113 is {cii.text(invoice, cii.BT_113)}"
    elif is_paid(invoice) and kind != INVOICE:
        yield f"BT-113 is on type {kind}: only an invoice is paid with its issue"
    elif frame[1] == "4" and kind != INVOICE:
        yield f"BT-23 is {frame} on type {kind}: only an invoice deducts deposits"
    deducts = kind == INVOICE and bool(deductions(invoice))
    if frame[1:] == "4" and not deducts:
        yield f"BT-23 is {frame}, but no line deducts a deposit"
    if frame[1:] == "1" and deducts:
        yield f"BT-23 is {frame}, but a line deducts a deposit"


def deductions(invoice) -> list[str]:
    """The numbers of the deposits that lines deduct."""
    found = []
    for line in cii.nodes(invoice, cii.BG_25):
        named = DEDUCTION.match(cii.text(line, cii.BT_153) or "")
        if named and number(cii.text(line, cii.BT_129), "quantity") < 0:
            found.append(named[1])
    return found


def currency_is_euro(invoice) -> Iterator[str]:
    currencies = set(cii.texts(invoice, cii.BT_5))
    currencies |= {node.get("currencyID") for node in cii.nodes(invoice, cii.BT_110)}
    currencies |= set(invoice.xpath("//@currencyID"))
    if currencies != {"EUR"}:
        yield f"currencies are {currencies}, not EUR everywhere"


def dates_are_real(invoice) -> Iterator[str]:
    for node in invoice.iterfind(".//{*}DateTimeString"):
        day(node.text)
        if node.get("format") != "102":
            yield f"a date has the format {node.get('format')!r}, not 102"


def dates_follow(invoice) -> Iterator[str]:
    """Due on the day of issue or later; a period that ends after it begins; references to the past."""
    issued = day(cii.text(invoice, cii.BT_2))
    due, kind = cii.text(invoice, cii.BT_9), kind_of(invoice)
    if kind == CREDIT_NOTE and due is not None:
        yield "BT-9 is on a credit note, which nobody has to pay"
    if (asks_for_payment(invoice) or is_paid(invoice)) and due is None:
        yield "BT-9 is missing"
    if is_paid(invoice) and due is not None and day(due) != issued:
        yield f"BT-9 {due} is not the day of the payment, BT-2"
    if due is not None and day(due) < issued:
        yield f"BT-9 {due} is before BT-2"
    day(cii.text(invoice, cii.BT_72))
    start, end = cii.text(invoice, cii.BT_73), cii.text(invoice, cii.BT_74)
    if (start is None) != (end is None):
        yield "BG-14 has one end only"
    elif start is not None and day(start) > day(end):
        yield f"BG-14 ends before it begins: {start} to {end}"
    for reference in cii.nodes(invoice, cii.BG_3):
        if day(cii.text(reference, cii.BT_26)) > issued:
            yield "BT-26 is after BT-2"


def terms_name_the_due_date(invoice) -> Iterator[str]:
    """BT-20 begins with BT-9 in words, as what is to be paid or as paid. On a credit note it says another thing, without
    which BR-CO-25 refuses it; an invoice of 0 says that nothing is to be paid."""
    terms, due = cii.text(invoice, cii.BT_20) or "", cii.text(invoice, cii.BT_9)
    found = DUE_IN_TEXT.match(terms)
    if kind_of(invoice) == CREDIT_NOTE:
        if found or not terms:
            yield f"BT-20 of a credit note is {terms!r}"
        return
    if not asks_for_payment(invoice):
        paid = PAID_IN_TEXT.fullmatch(terms)
        if is_paid(invoice) and (paid is None or day_in_words(paid) != day(cii.text(invoice, cii.BT_2))):
            yield f"BT-20 {terms!r} does not name the day of the payment"
        elif not is_paid(invoice) and (terms, due) != (NOTHING, None):
            yield f"an invoice of 0 has BT-20 {terms!r}, BT-9 {due}"
        return
    if found is None:
        yield f"BT-20 {terms!r} names no due date"
        return
    in_words = day_in_words(found)
    if due is None or in_words != day(due):
        yield f"BT-20 says {in_words}, BT-9 is {due}"


def day_in_words(found: re.Match) -> date:
    return date(int(found[3]), MONTHS.index(found[2]) + 1, int(found[1].removesuffix("er")))


def references_are_complete(invoice) -> Iterator[str]:
    """A credit note names its invoice, a deposit none; each reference has its date, and none is repeated."""
    references, kind = cii.nodes(invoice, cii.BG_3), kind_of(invoice)
    if kind == CREDIT_NOTE and len(references) != 1:
        yield f"a credit note has {len(references)} references in BG-3, not the one of its invoice"
    if kind == DEPOSIT and references:
        yield "a deposit has references in BG-3"
    numbers = [cii.text(reference, cii.BT_25) for reference in references]
    if len(set(numbers)) != len(numbers):
        yield "BG-3 names an invoice twice"
    for reference, named in zip(references, numbers, strict=True):
        if not re.fullmatch(r"FAC-20\d\d-\d{4,}", named or ""):
            yield f"BT-25 is {named!r}, not the number of an invoice"
        elif named == cii.text(invoice, cii.BT_1):
            yield "BT-25 is the document itself"
        elif named[4:8] != (cii.text(reference, cii.BT_26) or "")[:4]:
            yield f"BT-26 is not of the year of {named}"


def quote_is_named(invoice) -> Iterator[str]:
    """BT-12, if it is there, is the number of a quote."""
    quote = cii.text(invoice, cii.BT_12)
    if quote is not None and not re.fullmatch(r"DEV-20\d\d-\d{4,}", quote):
        yield f"BT-12 is {quote!r}, not of the form DEV-2026-0001"
    elif quote is not None and int(quote[4:8]) > day(cii.text(invoice, cii.BT_2)).year:
        yield f"BT-12 is {quote}, of a year after BT-2"


def order_is_short(invoice) -> Iterator[str]:
    """BT-13, if it is there, is one line of at most 50 characters."""
    order = cii.text(invoice, cii.BT_13)
    if order is not None and not re.fullmatch(r".{1,50}", order):
        yield f"BT-13 is {order!r}, not one line of at most 50 characters"


def deductions_are_referenced(invoice) -> Iterator[str]:
    """Each deposit that a line of an invoice deducts is in BG-3. A credit note repeats such lines."""
    referenced = {cii.text(reference, cii.BT_25) for reference in cii.nodes(invoice, cii.BG_3)}
    missing = set(deductions(invoice)) - referenced
    if kind_of(invoice) == INVOICE and missing:
        yield f"lines deduct {', '.join(sorted(missing))}, which BG-3 does not name"


def lines_multiply(invoice) -> Iterator[str]:
    """Quantity times price is the total, rounded half away from zero; prices are not negative."""
    for line in cii.nodes(invoice, cii.BG_25):
        name = f"line {cii.text(line, cii.BT_126)}"
        quantity = number(cii.text(line, cii.BT_129), "quantity")
        price = number(cii.text(line, cii.BT_146), "price")
        total = number(cii.text(line, cii.BT_131))
        if rounded(quantity * price) != total:
            yield f"{name}: {quantity} × {price} is {rounded(quantity * price)}, BT-131 is {total}"
        if price < 0:
            yield f"{name}: the price {price} is negative"


def lines_are_plain(invoice) -> Iterator[str]:
    """Numbered from 1, with a name and a known unit, without a base quantity, a discount or a charge of their own."""
    lines = cii.nodes(invoice, cii.BG_25)
    numbers = [cii.text(line, cii.BT_126) for line in lines]
    if numbers != [str(index) for index in range(1, len(lines) + 1)]:
        yield f"BT-126 are {numbers}, not 1 to {len(lines)}"
    for index, line in enumerate(lines, 1):
        units = [node.get("unitCode") for node in cii.nodes(line, cii.BT_129)]
        if not set(units) <= UNITS:
            yield f"line {index}: the unit {units} is not one of {sorted(UNITS)}"
        if not cii.text(line, cii.BT_153):
            yield f"line {index}: BT-153 is missing"
    for extra in ("BasisQuantity", "SpecifiedTradeAllowanceCharge", "GrossPriceProductTradePrice"):
        if invoice.find(f".//{{*}}{extra}") is not None:
            yield f"{extra} is not written: discounts are lines"


def lines_by_rate(invoice) -> dict[tuple[str, Decimal], Decimal]:
    """The sum of the lines of each category and rate."""
    sums = defaultdict(Decimal)
    for line in cii.nodes(invoice, cii.BG_25):
        rate = number(cii.text(line, cii.BT_152), "rate")
        sums[cii.text(line, cii.BT_151), rate] += number(cii.text(line, cii.BT_131))
    return dict(sums)


def rates_add_up(invoice) -> Iterator[str]:
    """One share for each category and rate of the lines, with their sum."""
    expected, shares = lines_by_rate(invoice), cii.nodes(invoice, cii.BG_23)
    found = {}
    for share in shares:
        key = (cii.text(share, cii.BT_118), number(cii.text(share, cii.BT_119), "rate"))
        found[key] = number(cii.text(share, cii.BT_116))
    if len(found) != len(shares):
        yield "BG-23 has a category and rate twice"
    if found != expected:
        yield f"BT-116 are {readable(found)}, the lines add up to {readable(expected)}"


def readable(sums: dict) -> str:
    return ", ".join(f"{category} {rate} %: {amount}" for (category, rate), amount in sums.items())


def vat_off(invoice) -> Iterator[tuple[str, Decimal]]:
    """Each share of VAT in words, and how far it is from the rounded percentage of its base."""
    for share in cii.nodes(invoice, cii.BG_23):
        base, vat = number(cii.text(share, cii.BT_116)), number(cii.text(share, cii.BT_117))
        rate = number(cii.text(share, cii.BT_119), "rate")
        exact = rounded(base * rate / 100)
        yield f"BT-117 at {rate} % is {vat}, {base} × {rate} % is {exact}", abs(vat - exact)


def vat_is_exact(invoice) -> Iterator[str]:
    """VAT is the rounded percentage of the sum; a closing document may take the cent that others have left."""
    yield from (fault for fault, off in vat_off(invoice) if off and not (is_closing(invoice) and off <= CENT))


def categories_have_their_reason(invoice) -> Iterator[str]:
    """S has a rate and no reason; E and AE have none and say why; no document mixes them."""
    shares = cii.nodes(invoice, cii.BG_23)
    categories = {cii.text(share, cii.BT_118) for share in shares}
    if len(categories) != 1:
        yield f"the categories {categories} are mixed"
    for share in shares:
        category, rate = cii.text(share, cii.BT_118), cii.text(share, cii.BT_119) or ""
        reason, code = cii.text(share, cii.BT_120), cii.text(share, cii.BT_121)
        if category == "S":
            if format(number(rate, "rate").normalize(), "f") not in RATES:
                yield f"{rate} % is no French rate"
            if reason is not None or code is not None:
                yield "category S has a reason for no VAT"
        elif category in EXEMPTIONS:
            if number(rate, "rate") or number(cii.text(share, cii.BT_117)):
                yield f"category {category} has VAT"
            if not reason or code != EXEMPTIONS[category]:
                yield f"category {category} has the reason {reason!r} and the code {code!r}"
        else:
            yield f"the category {category!r} is not written"


def vat_is_due_as_declared(invoice) -> Iterator[str]:
    """BT-8: always on payment for a deposit; for services, unless the option for débits is taken; not for goods."""
    letter, kind = (cii.text(invoice, cii.BT_23) or "?")[0], kind_of(invoice)
    for share in cii.nodes(invoice, cii.BG_23):
        due, category = cii.text(share, cii.BT_8), cii.text(share, cii.BT_118)
        if category != "S":
            expected = {None}
        elif kind == DEPOSIT:
            expected = {ON_PAYMENT}
        elif letter == "B":
            expected = {None, ON_DEBITS}
        else:
            expected = {ON_PAYMENT, ON_DEBITS}
        if due not in expected:
            yield f"BT-8 is {due!r} on type {kind}, frame {letter}, category {category}"
    if len({cii.text(share, cii.BT_8) for share in cii.nodes(invoice, cii.BG_23)}) > 1:
        yield "BT-8 differs between the rates"


def totals_add_up(invoice) -> Iterator[str]:
    """The five totals from the lines and the shares; nothing is taken away but a payment of all with the issue."""
    names = ("BT_106", "BT_109", "BT_110", "BT_112", "BT_115")
    found = {name: number(cii.text(invoice, getattr(cii, name))) for name in names}
    net = sum((number(cii.text(line, cii.BT_131)) for line in cii.nodes(invoice, cii.BG_25)), Decimal())
    vat = sum((number(cii.text(share, cii.BT_117)) for share in cii.nodes(invoice, cii.BG_23)), Decimal())
    paid = net + vat if is_paid(invoice) else Decimal()
    expected = dict(zip(names, (net, net, vat, net + vat, net + vat - paid), strict=True))
    for name in names:
        if found[name] != expected[name]:
            yield f"{name.replace('_', '-')} is {found[name]}, not {expected[name]}"
    if net + vat < 0:
        yield f"BT-112 is {net + vat}, below 0"
    if is_paid(invoice) and (number(cii.text(invoice, cii.BT_113)) != paid or not paid):
        yield f"BT-113 is {cii.text(invoice, cii.BT_113)}, not {paid}"
    for extra in ("ChargeTotalAmount", "AllowanceTotalAmount", "RoundingAmount"):
        if cii.nodes(invoice, cii.TOTALS + f"ram:{extra}"):
            yield f"{extra} is not written"


def retention(terms: str) -> tuple[Decimal, Decimal] | None:
    """Rate and amount of the retention that a text states."""
    found = RETENTION.search(terms)
    if found is None:
        return None
    amount = re.sub(SPACE, "", found["amount"])
    return Decimal(found["rate"].replace(",", ".")), Decimal(amount.replace(",", "."))


def retention_is_computed(invoice) -> Iterator[str]:
    """The retention in BT-20 is its percentage of BT-112, at most 5 %, with the law; no other document has one."""
    terms = cii.text(invoice, cii.BT_20) or ""
    if "retenue" not in terms.lower():
        return
    if kind_of(invoice) in (CREDIT_NOTE, DEPOSIT):
        yield f"type {kind_of(invoice)} has a retention"
    stated = retention(terms)
    if stated is None:
        yield f"BT-20 has a retention of another form: {terms!r}"
        return
    rate, amount = stated
    expected = rounded(number(cii.text(invoice, cii.BT_112)) * rate / 100)
    if amount != expected:
        yield f"BT-20 retains {amount}, {rate} % of BT-112 is {expected}"
    if not 0 < rate <= HIGHEST_RETENTION:
        yield f"BT-20 retains {rate} %, the law allows {HIGHEST_RETENTION} %"
    if "71-584" not in terms:
        yield "BT-20 does not name the law of the retention"


def notes_have_their_text(invoice) -> Iterator[str]:
    """PMT, PMD and AAB once each and with a text, PMT with its 40 €; BAR is B2B or B2C."""
    notes = defaultdict(list)
    for note in cii.nodes(invoice, cii.BG_1):
        notes[cii.text(note, "ram:SubjectCode")].append((cii.text(note, "ram:Content") or "").strip())
    for code in ("PMT", "PMD", "AAB", "BAR"):
        if len(notes[code]) != 1:
            yield f"the note {code} is there {len(notes[code])} times"
    for code in ("PMT", "PMD", "AAB"):
        if any(len(re.findall(r"\w", content)) < 10 for content in notes[code]):
            yield f"the note {code} says nothing: {notes[code]}"
    if not any("40" in content for content in notes["PMT"]):
        yield f"the note PMT does not name 40 €: {notes['PMT']}"
    if not set(notes["BAR"]) <= {"B2B", "B2C"}:
        yield f"the note BAR is {notes['BAR']}"
    unknown = set(notes) - {"PMT", "PMD", "AAB", "BAR", None}
    if unknown:
        yield f"the notes {unknown} are not written"


def seller_exists(invoice) -> Iterator[str]:
    """SIREN, SIRET, VAT number and address in the directory are of one business, and their check digits are right."""
    siren, siret = cii.text(invoice, cii.BT_30), cii.text(invoice, cii.BT_29)
    if not is_siren(siren):
        yield f"BT-30 {siren!r} is no SIREN"
        return
    if not is_siret(siret) or siret[:9] != siren:
        yield f"BT-29 {siret!r} is no SIRET of {siren}"
    taxed, untaxed = cii.text(invoice, cii.BT_31), cii.text(invoice, cii.BT_32)
    if (taxed is None) == (untaxed is None):
        yield "BT-31 and BT-32: exactly one of them is expected"
    if taxed is not None and taxed != vat_number(siren):
        yield f"BT-31 is {taxed!r}, the number of {siren} is {vat_number(siren)}"
    if untaxed is not None and untaxed != siren:
        yield f"BT-32 is {untaxed!r}, not the SIREN"
    is_exempt = any(cii.text(share, cii.BT_118) == "E" for share in cii.nodes(invoice, cii.BG_23))
    if untaxed is not None and not is_exempt:
        yield "BT-32 instead of BT-31 goes with category E only"
    if not re.fullmatch(rf"{siren}([+_.-][A-Za-z0-9+_.-]+)?", cii.text(invoice, cii.BT_34) or ""):
        yield f"BT-34 is not an address of {siren}"


def buyer_exists(invoice) -> Iterator[str]:
    """A business has a SIREN and an address that begins with it; a private client an e-mail or an own address."""
    siren, vat = cii.text(invoice, cii.BT_47), cii.text(invoice, cii.BT_48)
    address = cii.text(invoice, cii.BT_49) or ""
    scheme = [node.get("schemeID") for node in cii.nodes(invoice, cii.BT_49)]
    is_business = "B2B" in cii.texts(invoice, cii.BG_1 + "[ram:SubjectCode='BAR']/ram:Content")
    if not is_business:
        if siren is not None or vat is not None:
            yield "a private client has a SIREN or a VAT number"
        if scheme not in (["EM"], ["0225"]) or not re.fullmatch(PRIVATE_ADDRESSES[scheme[0]], address):
            yield f"BT-49 of a private client is {address!r}, scheme {scheme}"
        return
    if not is_siren(siren):
        yield f"BT-47 {siren!r} is no SIREN"
    elif scheme != ["0225"] or not re.fullmatch(rf"{siren}([+_.-][A-Za-z0-9+_.-]+)?", address):
        yield f"BT-49 is {address!r}, scheme {scheme}: not an address of {siren}"
    # A key with letters has no public rule.
    has_letters = vat is not None and re.fullmatch(rf"FR(?=\w?[A-Z])[A-Z0-9]{{2}}{siren}", vat)
    if vat is not None and is_siren(siren) and vat != vat_number(siren) and not has_letters:
        yield f"BT-48 is {vat!r}, the number of {siren} is {vat_number(siren)}"


def schemes_are_right(invoice) -> Iterator[str]:
    expected = {cii.BT_29: "0009", cii.BT_30: "0002", cii.BT_34: "0225", cii.BT_47: "0002"}
    for path, scheme in expected.items():
        found = [node.get("schemeID") for node in cii.nodes(invoice, path)]
        if not set(found) <= {scheme}:
            yield f"the scheme of {path} is {found}, not {scheme}"


def parties_have_addresses(invoice) -> Iterator[str]:
    for party in (cii.SELLER, cii.BUYER):
        if not (cii.text(invoice, party + "ram:Name") or "").strip():
            yield f"{party} has no name"
        countries = cii.texts(invoice, party + "ram:PostalTradeAddress/ram:CountryID")
        if len(countries) != 1 or countries[0] not in FRENCH:
            yield f"the country of {party} is {countries}, not a part of France with VAT"


def payment_can_be_made(invoice) -> Iterator[str]:
    """A credit transfer to an IBAN that can exist, with the number of the invoice as reference."""
    means, reference = cii.nodes(invoice, cii.BG_16), cii.text(invoice, cii.BT_83)
    for way in means:
        iban = cii.text(way, "ram:PayeePartyCreditorFinancialAccount/ram:IBANID")
        if cii.text(way, "ram:TypeCode") != "30" or iban is None or not is_iban(iban):
            yield f"BG-16 is no credit transfer to an IBAN that can exist: {iban!r}"
    if (means or reference) and not asks_for_payment(invoice):
        yield "BG-16 or BT-83 asks for a payment of nothing"
    if means and reference != cii.text(invoice, cii.BT_1):
        yield f"BT-83 is {reference!r}, not the number"


CHECKS = (
    texts_are_real,
    profile_is_exact,
    number_is_of_its_series,
    frame_fits_the_type,
    currency_is_euro,
    dates_are_real,
    dates_follow,
    terms_name_the_due_date,
    references_are_complete,
    quote_is_named,
    order_is_short,
    deductions_are_referenced,
    lines_multiply,
    lines_are_plain,
    rates_add_up,
    vat_is_exact,
    categories_have_their_reason,
    vat_is_due_as_declared,
    totals_add_up,
    retention_is_computed,
    notes_have_their_text,
    seller_exists,
    buyer_exists,
    schemes_are_right,
    parties_have_addresses,
    payment_can_be_made,
)


def faults(xml: bytes) -> list[str]:
    """All faults of a document, each with the check that found it."""
    try:
        invoice = cii.parse(xml)
    except etree.XMLSyntaxError as error:
        return [f"well_formed: {error}"]
    found = []
    for check in CHECKS:
        try:
            found += [f"{check.__name__}: {fault}" for fault in check(invoice)]
        except ValueError as error:
            # A term that cannot be read is a fault of the document.
            found.append(f"{check.__name__}: {error}")
    return found


def closes(invoice) -> bool:
    """Whether a document takes a cent that others have left."""
    return any(off for _, off in vat_off(invoice))


def check_folder(folder: Path) -> bool:
    """Computes each `*.xml` of a folder again and prints the faults; true if there are none."""
    paths = sorted(folder.glob("*.xml"))
    if not paths:
        print(f"{folder}: no XML to compute again")
        return False
    kinds, closing, faulty, shown = Counter(), 0, 0, Counter()
    for path in paths:
        xml = path.read_bytes()
        found = faults(xml)
        for fault in found:
            check, _, _ = fault.partition(":")
            shown[check] += 1
            if shown[check] <= SHOWN:
                print(f"{path.name}: {fault}")
        faulty += bool(found)
        if not found:
            invoice = cii.parse(xml)
            kinds[kind_of(invoice)] += 1
            closing += closes(invoice)
    for check, count in shown.most_common():
        print(f"  {count} × {check}")
    summary = ", ".join(f"{count} of type {kind}" for kind, count in sorted(kinds.items()))
    print(f"{folder}: {len(paths)} documents computed again, {faulty} with faults ({summary}; {closing} close a rate)")
    return not faulty


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: oracle.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
