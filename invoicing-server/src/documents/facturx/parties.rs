//! The company (BG-4) and the client (BG-7).

use super::address::write_address;
use super::einvoice::{DIRECTORY, EInvoice};
use super::xml::Xml;
use crate::documents::content::header::legal_particulars;

/// Identifiers of businesses (ISO 6523): the SIREN, and the SIRET of an establishment.
const SIREN: &str = "0002";
const SIRET: &str = "0009";
/// Kinds of tax numbers: of VAT, and of a company without a VAT number.
const VAT: &str = "VA";
const FISCAL: &str = "FC";

/// Writes the company.
pub(super) fn seller(xml: &mut Xml, invoice: EInvoice<'_>) {
    let identity = invoice.identity();
    xml.group("ram:SellerTradeParty", |xml| {
        schemed(xml, "ram:GlobalID", SIRET, identity.siret.as_deref());
        xml.text("ram:Name", &invoice.view.company.name);
        let particulars = legal_particulars(identity, identity.legal_form.as_deref(), ", ");
        xml.optional("ram:Description", particulars.as_deref());
        organization(xml, identity.siren());
        write_address(xml, &identity.address_parts());
        electronic(xml, invoice.seller_address().map(|address| (DIRECTORY, address)));
        match identity.vat_number.as_deref() {
            Some(number) => registration(xml, VAT, Some(number)),
            None => registration(xml, FISCAL, identity.siren().filter(|_| identity.is_franchise())),
        }
    });
}

/// Writes the client. Its address (BG-8) is the one that invoices are made out to.
pub(super) fn buyer(xml: &mut Xml, invoice: EInvoice<'_>) {
    let (buyer, business) = (invoice.view.buyer, invoice.business());
    xml.group("ram:BuyerTradeParty", |xml| {
        xml.text("ram:Name", invoice.view.client.name);
        organization(xml, business.and_then(|client| client.siren.as_deref()));
        write_address(xml, &buyer.billing_parts().unwrap_or_else(|| buyer.address_parts()));
        electronic(xml, invoice.buyer_address());
        registration(xml, VAT, business.and_then(|client| client.vat_number.as_deref()));
    });
}

fn organization(xml: &mut Xml, siren: Option<&str>) {
    if siren.is_some() {
        xml.group("ram:SpecifiedLegalOrganization", |xml| schemed(xml, "ram:ID", SIREN, siren));
    }
}

fn electronic(xml: &mut Xml, address: Option<(&str, &str)>) {
    if let Some((scheme, address)) = address {
        let id = |xml: &mut Xml| schemed(xml, "ram:URIID", scheme, Some(address));
        xml.group("ram:URIUniversalCommunication", id);
    }
}

fn registration(xml: &mut Xml, kind: &str, number: Option<&str>) {
    if number.is_some() {
        xml.group("ram:SpecifiedTaxRegistration", |xml| schemed(xml, "ram:ID", kind, number));
    }
}

fn schemed(xml: &mut Xml, name: &str, scheme: &str, id: Option<&str>) {
    if let Some(id) = id {
        xml.attributed(name, &[("schemeID", scheme)], id);
    }
}
