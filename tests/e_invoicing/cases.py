"""Cases of invoices, each in enough of the generated documents: `cases.py <folder>`."""

import sys
from pathlib import Path

import cii

# A case in a line: its name, and the XPath that is true of its documents.
CASES = {
    "company in franchise": f"{cii.BG_23}/{cii.BT_121} = 'VATEX-FR-FRANCHISE'",
    "reverse charge": f"{cii.BG_23}/{cii.BT_121} = 'VATEX-FR-AE'",
    "buyer overseas": f"{cii.BUYER}ram:PostalTradeAddress/ram:CountryID[. = 'GP' or . = 'MQ' or . = 'RE']",
    "direct invoice": f"{cii.BT_3} = '380' and not({cii.BT_12})",
    "paid at the issue": f"{cii.BT_23}[. = 'B2' or . = 'M2' or . = 'S2']",
    "invoice of 0": f"{cii.BT_3} = '380' and {cii.BT_112} = 0",
    "credit note of 0": f"{cii.BT_3} = '381' and {cii.BT_112} = 0",
    "order number": cii.BT_13,
    "billing address": f"{cii.BUYER}ram:PostalTradeAddress/ram:CityName = 'Lyon Cedex 03'",
    "reduced rate that the client certifies": f"{cii.BG_1}/ram:Content[contains(., 'le client certifie')]",
    "reduced rate on a direct invoice": f"{cii.BG_1}/ram:Content[contains(., 'selon les indications du client')]",
    "credit note": f"{cii.BT_3} = '381'",
    "credit note after a reduction": f"{cii.BG_25}/{cii.BT_153} = 'Réductions déjà accordées'",
    "part of a line credited, the rest later": f"{cii.BG_25}/*/*[contains(., ' (solde)')]",
    "rate of 2.1 %": f"{cii.BG_23}/{cii.BT_119} = 2.1",
    "supply in a period": f"{cii.BT_73} and {cii.BT_74}",
    "private client": f"{cii.BG_1}[ram:SubjectCode = 'BAR']/ram:Content = 'B2C'",
    "private client in the directory": f"{cii.BT_49} = '404833048_LEA'",
    "mediator": f"{cii.BG_1}/ram:Content[starts-with(., 'Médiateur de la consommation')]",
}
# Minimum number of documents of a case; fewer prove little. Rare cases need several conditions at once.
LEAST = 20
LEAST_OF_RARE = {
    "credit note after a reduction": 3,
    "mediator": 3,
    "part of a line credited, the rest later": 3,
    "private client in the directory": 3,
}


def check_folder(folder: Path) -> bool:
    """Counts the `*.xml` of each case and prints how many they are; true if they are enough, and not all documents."""
    invoices = [cii.parse(path.read_bytes()) for path in sorted(folder.glob("*.xml"))]
    missing = []
    for name, case in CASES.items():
        count = sum(invoice.xpath(f"boolean({case})", namespaces=cii.NAMES) for invoice in invoices)
        least = LEAST_OF_RARE.get(name, LEAST)
        if not least <= count < len(invoices):
            missing.append(name)
        print(f"  {name}: {count}, at least {least} are expected")
    print(f"{folder}: {len(CASES)} cases in {len(invoices)} documents; in too few or in all: {missing or 'none'}")
    return not missing


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: cases.py <folder>")
    sys.exit(not check_folder(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
