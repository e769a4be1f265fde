//! The goods and the clients of a painter, drawn by a generator that a seed makes repeatable.

use chrono::{Days, NaiveDate};
use fastrand::Rng;
use invoicing_core::{
    ClientType, Costing, Invalid, Money, NewClient, NewLine, Percent, Quantity, UnitPrice, french_vat_number,
    is_siren, percent, unit_price,
};
use rust_decimal::Decimal;

const FIRST_NAMES: [&str; 10] =
    ["Claire", "Hugo", "Inès", "Léa", "Marc", "Nadia", "Paul", "Sophie", "Théo", "Zoé"];
const LAST_NAMES: [&str; 10] =
    ["Bernard", "Chevalier", "Dubois", "Faure", "Garnier", "Lefèvre", "Moreau", "Noël", "Petit", "Ribeiro"];
const BUSINESSES: [&str; 5] = ["Boulangerie", "Copropriété", "Garage", "Hôtel", "Pharmacie"];
const CITIES: [(&str, &str); 6] = [
    ("Lyon", "69003"),
    ("Villeurbanne", "69100"),
    ("Saint-Étienne", "42000"),
    ("Grenoble", "38000"),
    ("Bourg-en-Bresse", "01000"),
    ("Vénissieux", "69200"),
];

/// A kind of work.
struct Work {
    lot: &'static str,
    section: Option<&'static str>,
    description: &'static str,
    unit: &'static str,
    price: UnitPrice,
    /// Percent.
    rate: i32,
}

const WORKS: [Work; 8] = [
    work("Préparation", Some("Sols"), "Protection des sols et du mobilier", "forfait", unit_price!(180), 10),
    work("Préparation", Some("Murs"), "Rebouchage, ponçage et impression", "m2", unit_price!(11.80), 10),
    work("Préparation", Some("Murs"), "Dépose de papier peint", "m2", unit_price!(8.50), 10),
    work("Peinture", Some("Murs"), "Deux couches de peinture mate", "m2", unit_price!(19.90), 10),
    work("Peinture", Some("Plafonds"), "Plafonds, deux couches", "m2", unit_price!(22.40), 10),
    work("Peinture", Some("Boiseries"), "Laque satinée sur portes", "u", unit_price!(94.50), 10),
    work("Façade", None, "Ravalement, nettoyage et peinture pliolite", "m2", unit_price!(48.20), 20),
    work("Fournitures", None, "Nuancier et conseil en décoration", "h", unit_price!(65), 20),
];

const fn work(
    lot: &'static str,
    section: Option<&'static str>,
    description: &'static str,
    unit: &'static str,
    price: UnitPrice,
    rate: i32,
) -> Work {
    Work { lot, section, description, unit, price, rate }
}

/// One of several.
pub(crate) fn one_of<'a, T>(rng: &mut Rng, all: &'a [T]) -> Option<&'a T> {
    (!all.is_empty()).then(|| &all[rng.usize(..all.len())])
}

/// A person or a business.
pub(crate) fn client(rng: &mut Rng) -> NewClient {
    let (first, last) =
        (FIRST_NAMES[rng.usize(..FIRST_NAMES.len())], LAST_NAMES[rng.usize(..LAST_NAMES.len())]);
    let (city, zip_code) = CITIES[rng.usize(..CITIES.len())];
    let is_business = rng.u8(..4) == 0;
    let name = if is_business {
        format!("{} {last}", BUSINESSES[rng.usize(..BUSINESSES.len())])
    } else {
        format!("{first} {last}")
    };
    let mut client = NewClient::named(name)
        .email(format!("client{}@exemple.fr", rng.u32(1_000..1_000_000)))
        .address(format!("{} rue des Lilas", rng.u8(1..120)))
        .zip_code(zip_code)
        .city(city);
    client = if is_business { business(rng, client) } else { client.r#type(ClientType::Particulier) };
    client.phone = rng.bool().then(|| format!("06 {:02} {:02} 00 00", rng.u8(..100), rng.u8(..100)));
    client
}

/// With the numbers that an electronic invoice needs of a business.
fn business(rng: &mut Rng, client: NewClient) -> NewClient {
    let siren = siren(rng);
    let vat_number = french_vat_number(&siren);
    let client = client.r#type(ClientType::Professionnel).siren(siren);
    // Some charge no VAT, and have no number.
    if rng.u8(..4) == 0 { client } else { client.vat_number(vat_number) }
}

/// A number with its check digit: the last one of the ten that fits.
fn siren(rng: &mut Rng) -> String {
    let eight = rng.u32(10_000_000..100_000_000);
    let mut all = (0..10).map(|digit| format!("{eight}{digit}"));
    all.find(|siren| is_siren(siren)).unwrap_or_default()
}

/// The lines of a quote; every fourth quote has a discount.
pub(crate) fn lines(rng: &mut Rng) -> Result<Vec<NewLine>, Invalid> {
    let mut lines = Vec::new();
    let mut total = Money::ZERO;
    for _ in 0..rng.usize(1..=6) {
        let work = &WORKS[rng.usize(..WORKS.len())];
        let tenths = if work.unit == "forfait" { 10 } else { rng.i64(10..900) };
        let quantity = Quantity::new(Decimal::new(tenths, 1))?;
        let price = quantity.times(work.price)?;
        total = total.plus(price)?;
        let costing = Costing::default()
            .labour_cost(price.percent(percent!(45))?)
            .private_note("Marge à vérifier avant envoi");
        let mut line = NewLine::new(work.description, quantity, work.price, work.rate)
            .unit(work.unit)
            .lot(work.lot)
            .cost(costing);
        line.section = work.section.map(str::to_owned);
        lines.push(line);
    }
    if rng.u8(..4) == 0 {
        let discount = UnitPrice::new(total.percent(percent!(3))?.get())?;
        lines.push(NewLine::new("Remise commerciale", -1, discount, lines[0].tva_rate).unit("forfait"));
    }
    Ok(lines)
}

/// 5 % on every third quote.
pub(crate) fn retention(rng: &mut Rng) -> Percent {
    Percent::from(if rng.u8(..3) == 0 { 5 } else { 0 })
}

/// A day some weeks ahead.
pub(crate) fn later(rng: &mut Rng, today: NaiveDate) -> Option<NaiveDate> {
    today.checked_add_days(Days::new(rng.u64(7..60)))
}
