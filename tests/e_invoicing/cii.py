"""Terms of EN 16931 in the XML of a Factur-X invoice (syntax CII D22B)."""

from lxml import etree

NAMES = {
    "rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
    "ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
    "qdt": "urn:un:unece:uncefact:data:standard:QualifiedDataType:100",
    "udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
}

CONTEXT = "rsm:ExchangedDocumentContext/"
DOCUMENT = "rsm:ExchangedDocument/"
TRANSACTION = "rsm:SupplyChainTradeTransaction/"
AGREEMENT = TRANSACTION + "ram:ApplicableHeaderTradeAgreement/"
DELIVERY = TRANSACTION + "ram:ApplicableHeaderTradeDelivery/"
SETTLEMENT = TRANSACTION + "ram:ApplicableHeaderTradeSettlement/"
SELLER = AGREEMENT + "ram:SellerTradeParty/"
BUYER = AGREEMENT + "ram:BuyerTradeParty/"
TOTALS = SETTLEMENT + "ram:SpecifiedTradeSettlementHeaderMonetarySummation/"
TERMS = SETTLEMENT + "ram:SpecifiedTradePaymentTerms/"
LINE_TAX = "ram:SpecifiedLineTradeSettlement/ram:ApplicableTradeTax/"

# Of the whole document.
BT_1 = DOCUMENT + "ram:ID"
BT_2 = DOCUMENT + "ram:IssueDateTime/udt:DateTimeString"
BT_3 = DOCUMENT + "ram:TypeCode"
BT_5 = SETTLEMENT + "ram:InvoiceCurrencyCode"
BT_9 = TERMS + "ram:DueDateDateTime/udt:DateTimeString"
BT_12 = AGREEMENT + "ram:ContractReferencedDocument/ram:IssuerAssignedID"
BT_13 = AGREEMENT + "ram:BuyerOrderReferencedDocument/ram:IssuerAssignedID"
BT_20 = TERMS + "ram:Description"
BG_1 = DOCUMENT + "ram:IncludedNote"
BG_3 = SETTLEMENT + "ram:InvoiceReferencedDocument"
BT_23 = CONTEXT + "ram:BusinessProcessSpecifiedDocumentContextParameter/ram:ID"
BT_24 = CONTEXT + "ram:GuidelineSpecifiedDocumentContextParameter/ram:ID"
BT_27 = SELLER + "ram:Name"
BT_29 = SELLER + "ram:GlobalID"
BT_30 = SELLER + "ram:SpecifiedLegalOrganization/ram:ID"
BT_31 = SELLER + "ram:SpecifiedTaxRegistration/ram:ID[@schemeID='VA']"
BT_32 = SELLER + "ram:SpecifiedTaxRegistration/ram:ID[@schemeID='FC']"
BT_34 = SELLER + "ram:URIUniversalCommunication/ram:URIID"
BT_44 = BUYER + "ram:Name"
BT_47 = BUYER + "ram:SpecifiedLegalOrganization/ram:ID"
BT_48 = BUYER + "ram:SpecifiedTaxRegistration/ram:ID[@schemeID='VA']"
BT_49 = BUYER + "ram:URIUniversalCommunication/ram:URIID"
BT_72 = DELIVERY + "ram:ActualDeliverySupplyChainEvent/ram:OccurrenceDateTime/udt:DateTimeString"
BT_73 = SETTLEMENT + "ram:BillingSpecifiedPeriod/ram:StartDateTime/udt:DateTimeString"
BT_74 = SETTLEMENT + "ram:BillingSpecifiedPeriod/ram:EndDateTime/udt:DateTimeString"
BT_83 = SETTLEMENT + "ram:PaymentReference"
BG_16 = SETTLEMENT + "ram:SpecifiedTradeSettlementPaymentMeans"
BT_106 = TOTALS + "ram:LineTotalAmount"
BT_109 = TOTALS + "ram:TaxBasisTotalAmount"
BT_110 = TOTALS + "ram:TaxTotalAmount"
BT_112 = TOTALS + "ram:GrandTotalAmount"
BT_113 = TOTALS + "ram:TotalPrepaidAmount"
BT_115 = TOTALS + "ram:DuePayableAmount"
BG_23 = SETTLEMENT + "ram:ApplicableTradeTax"
BG_25 = TRANSACTION + "ram:IncludedSupplyChainTradeLineItem"

# Of a referenced invoice (BG-3).
BT_25 = "ram:IssuerAssignedID"
BT_26 = "ram:FormattedIssueDateTime/qdt:DateTimeString"

# Of the share of a rate (BG-23).
BT_8 = "ram:DueDateTypeCode"
BT_116 = "ram:BasisAmount"
BT_117 = "ram:CalculatedAmount"
BT_118 = "ram:CategoryCode"
BT_119 = "ram:RateApplicablePercent"
BT_120 = "ram:ExemptionReason"
BT_121 = "ram:ExemptionReasonCode"

# Of a line (BG-25).
BT_126 = "ram:AssociatedDocumentLineDocument/ram:LineID"
BT_129 = "ram:SpecifiedLineTradeDelivery/ram:BilledQuantity"
BT_131 = "ram:SpecifiedLineTradeSettlement/ram:SpecifiedTradeSettlementLineMonetarySummation/ram:LineTotalAmount"
BT_146 = "ram:SpecifiedLineTradeAgreement/ram:NetPriceProductTradePrice/ram:ChargeAmount"
BT_151 = LINE_TAX + "ram:CategoryCode"
BT_152 = LINE_TAX + "ram:RateApplicablePercent"
BT_153 = "ram:SpecifiedTradeProduct/ram:Name"
BT_154 = "ram:SpecifiedTradeProduct/ram:Description"

# A document names no other file, and may be as long as 5,000 lines make it.
PARSER = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)


def parse(xml: bytes):
    """The root element."""
    return etree.fromstring(xml, PARSER)


def nodes(place, path: str) -> list:
    """The elements at a path below a place."""
    return place.xpath(path, namespaces=NAMES)


def texts(place, path: str) -> list[str]:
    """The texts of the elements at a path, as they are: spaces count."""
    return [node.text or "" for node in nodes(place, path)]


def text(place, path: str) -> str | None:
    """The text of the only element at a path; `None` if there is none."""
    found = texts(place, path)
    if len(found) > 1:
        raise ValueError(f"{len(found)} elements at {path}, at most one is expected")
    return found[0] if found else None
