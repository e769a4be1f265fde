//! What a painter sells and to whom, drawn by a generator that a seed makes repeatable.

use chrono::{Days, NaiveDate};
use fastrand::Rng;
use invoicing_core::{ClientType, Costing, Invalid, Money, NewClient, NewLine, Percent, Quantity, UnitPrice};
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
    /// Price of a unit in cents.
    cents: i64,
    /// Percent.
    rate: i32,
}

const WORKS: [Work; 8] = [
    work("Préparation", Some("Sols"), "Protection des sols et du mobilier", "forfait", 18_000, 10),
    work("Préparation", Some("Murs"), "Rebouchage, ponçage et impression", "m2", 1_180, 10),
    work("Préparation", Some("Murs"), "Dépose de papier peint", "m2", 850, 10),
    work("Peinture", Some("Murs"), "Deux couches de peinture mate", "m2", 1_990, 10),
    work("Peinture", Some("Plafonds"), "Plafonds, deux couches", "m2", 2_240, 10),
    work("Peinture", Some("Boiseries"), "Laque satinée sur portes", "u", 9_450, 10),
    work("Façade", None, "Ravalement, nettoyage et peinture pliolite", "m2", 4_820, 20),
    work("Fournitures", None, "Nuancier et conseil en décoration", "h", 6_500, 20),
];

const fn work(
    lot: &'static str,
    section: Option<&'static str>,
    description: &'static str,
    unit: &'static str,
    cents: i64,
    rate: i32,
) -> Work {
    Work { lot, section, description, unit, cents, rate }
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
    let kind = if is_business { ClientType::Professionnel } else { ClientType::Particulier };
    NewClient {
        email: Some(format!("client{}@exemple.fr", rng.u32(1_000..1_000_000))),
        phone: (rng.bool()).then(|| format!("06 {:02} {:02} 00 00", rng.u8(..100), rng.u8(..100))),
        address: Some(format!("{} rue des Lilas", rng.u8(1..120))),
        city: Some(city.to_owned()),
        zip_code: Some(zip_code.to_owned()),
        client_type: Some(kind),
        ..NewClient::named(name)
    }
}

/// The lines of a quote; every fourth quote has a discount.
pub(crate) fn lines(rng: &mut Rng) -> Result<Vec<NewLine>, Invalid> {
    let mut lines = Vec::new();
    let mut total = Decimal::ZERO;
    for _ in 0..rng.usize(1..=6) {
        let work = &WORKS[rng.usize(..WORKS.len())];
        let price = Decimal::new(work.cents, 2);
        let quantity = if work.unit == "forfait" { Decimal::ONE } else { Decimal::new(rng.i64(10..900), 1) };
        total += price * quantity;
        lines.push(NewLine {
            description: work.description.to_owned(),
            quantity: Quantity::new(quantity)?,
            unit: Some(work.unit.to_owned()),
            unit_price: UnitPrice::new(price)?,
            tva_rate: Percent::from(work.rate),
            lot: Some(work.lot.to_owned()),
            section: work.section.map(str::to_owned),
            costing: Costing {
                labour_cost: Some(Money::round(price * quantity * Decimal::new(45, 2))?),
                private_note: Some("Marge à vérifier avant envoi".to_owned()),
                ..Costing::default()
            },
        });
    }
    if rng.u8(..4) == 0 {
        lines.push(NewLine {
            description: "Remise commerciale".to_owned(),
            quantity: Quantity::from(-1),
            unit: Some("forfait".to_owned()),
            unit_price: UnitPrice::new((total * Decimal::new(3, 2)).round_dp(2))?,
            tva_rate: lines[0].tva_rate,
            lot: None,
            section: None,
            costing: Costing::default(),
        });
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
