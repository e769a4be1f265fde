"""Rendering an invoice: our renderer beside typst as a library and WeasyPrint, by hand, in one run.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python compare.py "$(cargo bench -p invoicing-tests --bench documents --no-run --message-format=json \
        | sed -n 's/.*"executable":"\\([^"]*\\)".*/\\1/p' | tail -1)"

The peers set an invoice of as many lines, lots and sections, with head, totals and legal notices, as tagged PDF/A-3a with
embedded fonts (WeasyPrint: PDF/A-3u, tagged). Both are called in this process, and keep what they can between
calls: typst its compiler with the fonts, WeasyPrint its fonts. Our median is the one that the benchmark prints, of
a rendering without XML. Rounds take turns; the figure of a side is its median.
"""

import html
import itertools
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import typst
import weasyprint

ROUNDS = 3
CALLS = {20: 30, 130: 8}
WORKS = [
    ("Dépose et évacuation de l’existant", "forfait", 340.0),
    ("Préparation des supports : lessivage, rebouchage, ponçage et dépoussiérage soigné", "m²", 11.35),
    ("Fourniture et pose, y compris fixations, joints et raccords", "u", 128.9),
    ("Application en deux couches, séchage de douze heures entre les couches", "m²", 16.2),
    ("Finitions et reprises", "h", 48.0),
    ("Nettoyage de fin de chantier", "forfait", 95.5),
    (
        "Isolation thermique par l’intérieur : panneaux de laine de bois de 120 mm, pare-vapeur hygrovariable, ossature"
        " et plaques de plâtre, jointoiement compris, selon le DTU 25.41",
        "m²",
        74.6,
    ),
]
LOTS = ["Lot 1 – Démolition", "Lot 2 – Plâtrerie et isolation", "Lot 3 – Peinture", "Lot 4 – Sols"]
SECTIONS = ["Rez-de-chaussée", "Premier étage", "Combles aménagés"]
COMPANY = ["12 rue des Métiers", "44000 Nantes", "SIRET : 732 829 320 00074", "N° TVA : FR44732829320"]
CLIENT = ["Dupont SARL", "8 quai de la Fosse", "44000 Nantes", "SIREN : 404 833 048"]
LEGAL_NOTICES = [
    "TVA à 10 % (CGI, art. 279-0 bis) : le client certifie que les travaux portent sur des locaux à usage d’habitation"
    " achevés depuis plus de deux ans.",
    "Pénalités de retard : trois fois le taux d’intérêt légal, exigibles sans rappel.",
    "Indemnité forfaitaire pour frais de recouvrement : 40 €.",
    "Pas d’escompte pour paiement anticipé.",
]


def euros(amount: float) -> str:
    return f"{amount:,.2f} €".replace(",", "\u202f").replace(".", ",")


def lines(count: int) -> list[tuple[str, list[str]]]:
    """Each line with the place that it is in, as the texts of its cells."""
    parts = len(LOTS) * len(SECTIONS)
    made = []
    for index in range(count):
        part = index * parts // count
        description, unit, price = WORKS[index % len(WORKS)]
        quantity = index * 7 % 60 + 1
        rate = ["10 %", "10 %", "20 %", "5,5 %"][index % 4]
        place = f"{LOTS[part // len(SECTIONS)]} / {SECTIONS[part % len(SECTIONS)]}"
        cells = [description, str(quantity), unit, euros(price), rate, euros(quantity * price)]
        made.append((place, cells))
    return made


def totals(count: int) -> list[tuple[str, str]]:
    net = sum(quantity * price for quantity, price in amounts(count))
    return [("Total HT", euros(net)), ("TVA", euros(net / 10)), ("Total TTC", euros(net * 1.1))]


def amounts(count: int):
    return [(index * 7 % 60 + 1, WORKS[index % len(WORKS)][2]) for index in range(count)]


def typst_source(count: int) -> str:
    def text(content: str) -> str:
        return '"' + content.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def below(texts: list[str]) -> str:
        return "#linebreak()".join(f"#{text(content)}" for content in texts)

    rows, last = [], None
    for place, cells in lines(count):
        if place != last:
            rows.append(f"table.cell(colspan: 6, strong({text(place)})),")
            last = place
        # Each call has other texts: typst keeps what it has laid out before.
        rows.append(f"{text(cells[0] + ' ')} + sys.inputs.n, " + ", ".join(text(cell) for cell in cells[1:]) + ",")
    sums = "\n".join(f"{text(name)}, {text(amount)}," for name, amount in totals(count))
    head = ", ".join(text(cell) for cell in ("Désignation", "Quantité", "Unité", "Prix HT", "TVA", "Total HT"))
    return f"""
#set document(title: "Facture FAC-2026-0042", date: datetime(year: 2026, month: 9, day: 14))
#set page(paper: "a4", margin: 18mm, footer: context [Facture FAC-2026-0042 — page #counter(page).display("1 / 1", both: true)])
#set text(lang: "fr", size: 9pt)
#grid(columns: (1fr, auto), [*Martin Peinture* \\ {below(COMPANY)}], [#text(24pt)[Facture] \\ FAC-2026-0042])
#line(length: 100%)
#grid(columns: (1fr, 1fr), [Date \\ 14 septembre 2026], [{below(CLIENT)}])
#table(columns: (1fr, auto, auto, auto, auto, auto), stroke: none, table.header({head}),
{chr(10).join(rows)}
)
#align(right, table(columns: 2, stroke: none, {sums}))
= Règlement
IBAN FR76 3000 6000 0112 3456 7890 189
= Mentions
{(chr(10) * 2).join(f"#{text(notice)}" for notice in LEGAL_NOTICES)}
"""


def page(count: int) -> str:
    rows, last = [], None
    for place, cells in lines(count):
        if place != last:
            rows.append(f'<tr><th colspan="6">{html.escape(place)}</th></tr>')
            last = place
        rows.append("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>")
    sums = "".join(f"<tr><td>{name}</td><td>{amount}</td></tr>" for name, amount in totals(count))
    notices = "".join(f"<p>{html.escape(notice)}</p>" for notice in LEGAL_NOTICES)
    return f"""<!doctype html><html lang="fr"><head><title>Facture FAC-2026-0042</title><style>
@page {{ size: A4; margin: 18mm; @bottom-left {{ content: "Facture — page " counter(page) " / " counter(pages) }} }}
body {{ font: 9pt sans-serif }} table {{ width: 100%; border-collapse: collapse }} td:nth-child(n+2) {{ text-align: right; white-space: nowrap }}
th {{ text-align: left }} header {{ display: flex; justify-content: space-between }}
</style></head><body><header><div><b>Martin Peinture</b><br>{"<br>".join(COMPANY)}</div><h1>Facture<br>FAC-2026-0042</h1></header>
<hr><header><p>Date<br>14 septembre 2026</p><p>{"<br>".join(CLIENT)}</p></header>
<table><thead><tr><th>Désignation</th><th>Quantité</th><th>Unité</th><th>Prix HT</th><th>TVA</th><th>Total HT</th></tr></thead>
<tbody>{"".join(rows)}</tbody></table><table>{sums}</table><h2>Règlement</h2><p>IBAN FR76 3000 6000 0112 3456 7890 189</p>
<h2>Mentions</h2>{notices}</body></html>"""


def median_ms(call, calls: int) -> float:
    call()
    times = []
    for _ in range(calls):
        begun = time.perf_counter()
        call()
        times.append((time.perf_counter() - begun) * 1e3)
    return statistics.median(times)


def ours(benchmark: str) -> dict[int, float]:
    """The medians that the benchmark prints, by the number of lines."""
    output = subprocess.run([benchmark, "--bench", "invoices"], capture_output=True, text=True).stdout
    found = re.findall(r"(\d+) lines[^,]*, rendering without XML\s+([\d.]+) ms", output)
    return {int(count): float(ms) for count, ms in found if int(count) in CALLS}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = Path(tempfile.mkdtemp())
    sides = {"invoicing": {}, "typst": {}, "WeasyPrint": {}}
    for count in CALLS:
        (folder / f"{count}.typ").write_text(typst_source(count))
    numbers = itertools.count()
    for _ in range(ROUNDS):
        for count, ms in ours(sys.argv[1]).items():
            sides["invoicing"].setdefault(count, []).append(ms)
        for count, calls in CALLS.items():
            source, markup = folder / f"{count}.typ", page(count)
            compiler = typst.Compiler(str(source), sys_inputs={"n": "0"})

            def by_typst(compiler=compiler):
                return compiler.compile(format="pdf", pdf_standards=["a-3a"], sys_inputs={"n": str(next(numbers))})

            def by_weasyprint(markup=markup):
                return weasyprint.HTML(string=markup).write_pdf(pdf_variant="pdf/a-3u", pdf_tags=True)

            for side, call in (("typst", by_typst), ("WeasyPrint", by_weasyprint)):
                sides[side].setdefault(count, []).append(median_ms(call, calls))
                (folder / f"{count}-{side}.pdf").write_bytes(call())
    print(f"documents of the peers: {folder}")
    for count in CALLS:
        own = statistics.median(sides["invoicing"][count])
        for side, figures in sides.items():
            ms = statistics.median(figures[count])
            print(f"{count} lines: {side} {ms:.1f} ms, {ms / own:.1f} of ours; rounds {[round(ms, 1) for ms in figures[count]]}")


if __name__ == "__main__":
    main()
