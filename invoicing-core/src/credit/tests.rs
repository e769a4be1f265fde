use proptest::prelude::*;

use super::*;
use crate::fixtures::*;
use crate::{InvoiceStatus, MAX_LINES_BYTES, NewLine};

/// An issued invoice of lines (quantity, price, rate).
fn invoice_of(lines: &[(&str, &str, &str)]) -> Invoice {
    let new: Vec<_> = lines
        .iter()
        .map(|(quantity, price, rate)| {
            NewLine::new(
                "Pose",
                quantity.parse::<Quantity>().unwrap(),
                price.parse::<UnitPrice>().unwrap(),
                rate.parse::<Percent>().unwrap(),
            )
        })
        .collect();
    issued_of(&new)
}

/// An invoice with what is left of it.
struct Credited {
    invoice: Invoice,
    balance: CreditableBalance,
}

impl Credited {
    fn of(lines: &[(&str, &str, &str)]) -> Self {
        let invoice = invoice_of(lines);
        Self { balance: CreditableBalance::of(&invoice), invoice }
    }

    /// Credits, and takes it off what is left.
    fn credit(&mut self, new: &NewCreditNote) -> Result<CreditContent, Invalid> {
        let content = self.balance.clone().credit(&self.invoice, new)?;
        for share in &content.vat_breakdown {
            self.check_left(share);
        }
        self.balance.take(&content.parts, &content.vat_breakdown).unwrap();
        check_content(&content);
        Ok(content)
    }

    /// Neither base nor VAT of a rate is more than what is left of it.
    fn check_left(&self, share: &VatShare) {
        let left = self.balance.rates().find(|left| left.tva_rate == share.tva_rate).unwrap();
        for (credited, left) in [(share.base_ht, left.base_ht), (share.amount_tva, left.amount_tva)] {
            let is_part = credited.get().abs() <= left.get().abs();
            let has_its_sign = credited.is_zero() || credited.is_negative() == left.is_negative();
            assert!(is_part && has_its_sign, "{share:?}, {left}");
        }
    }

    /// The total with VAT of a credit.
    fn ttc(&mut self, new: &NewCreditNote) -> String {
        self.credit(new).unwrap().total_ttc.to_string()
    }

    fn refused(&mut self, new: &NewCreditNote) -> Invalid {
        self.credit(new).unwrap_err()
    }

    fn is_closed(&self) -> bool {
        self.balance.rates().all(|share| share.base_ht.is_zero() && share.amount_tva.is_zero())
    }
}

/// The identities that hold for every credit note.
fn check_content(content: &CreditContent) {
    for line in &content.lines {
        assert_eq!(line.quantity.times(line.unit_price).unwrap(), line.total_ht, "{line:?}");
        assert!(!line.unit_price.is_negative(), "{line:?}");
    }
    for share in &content.vat_breakdown {
        let exact = share.base_ht.percent(share.tva_rate).unwrap();
        let off = (share.amount_tva.get() - exact.get()).abs();
        assert!(off <= Decimal::new(1, 2), "{share:?} instead of {exact}");
    }
    let lines: Decimal = content.lines.iter().map(|line| line.total_ht.get()).sum();
    let shares: Decimal = content.vat_breakdown.iter().map(|share| share.base_ht.get()).sum();
    let vat: Decimal = content.vat_breakdown.iter().map(|share| share.amount_tva.get()).sum();
    assert_eq!((lines, lines + vat), (content.total_ht.get(), content.total_ttc.get()));
    assert_eq!(shares, lines);
    assert!(content.total_ttc > Money::ZERO);
}

fn all() -> NewCreditNote {
    NewCreditNote::of_remaining("Travaux annulés")
}

fn part() -> NewCreditNote {
    NewCreditNote::new("Trop compté")
}

fn line(index: usize, quantity: &str) -> NewCreditNote {
    part().quantity(index, quantity.parse::<Quantity>().unwrap())
}

fn reduction(rate: &str, amount: &str) -> NewCreditNote {
    part().reduction("Remise", rate.parse::<Percent>().unwrap(), amount.parse::<Money>().unwrap())
}

/// The case of getlago/lago-api#2643: the fourth credit would be 82.00, and 335.00 in all.
///
/// Rules: CREDIT-2, CREDIT-3
#[test]
fn four_credits_of_a_rate_add_up_to_the_invoice() {
    let lines = ["68.33", "68.33", "57.50", "85.00"].map(|price| ("1", price, "20"));
    let mut credited = Credited::of(&lines);
    assert_eq!(credited.invoice.summary.total_ttc.to_string(), "334.99");
    let totals = [0, 2, 3, 1].map(|index| credited.ttc(&line(index, "1")));
    assert_eq!(totals, ["82.00", "69.00", "102.00", "81.99"]);
    assert!(credited.is_closed());
}

/// 0.02 at 20 % is 0.004: rounded alone, the VAT of each credit would be 0.00.
///
/// Rules: CREDIT-2
#[test]
fn roundings_of_many_small_credits_do_not_add_up() {
    let mut credited = Credited::of(&[("1", "1000", "20")]);
    let totals: Vec<_> = (0..250).map(|_| credited.ttc(&reduction("20", "0.02"))).collect();
    assert_eq!(totals[..5], ["0.02", "0.03", "0.02", "0.03", "0.02"]);
    assert_eq!(credited.ttc(&all()), "1194.00");
    assert!(credited.is_closed());
}

/// The case of PrestaShop/PrestaShop#23821.
///
/// Rules: CREDIT-2, CREDIT-4
#[test]
fn a_full_credit_mirrors_the_invoice_per_rate_to_the_cent() {
    let lines =
        [("3", "0.335", "5.5"), ("7", "10.01", "20"), ("-1", "12.34", "20"), ("2.5", "33.3333", "10")];
    let mut credited = Credited::of(&lines);
    let content = credited.credit(&all()).unwrap();
    let invoice = &credited.invoice;
    assert_eq!(content.vat_breakdown, invoice.detail.vat_breakdown);
    assert_eq!(content.lines, invoice.lines);
    assert_eq!((content.total_ht, content.total_ttc), (invoice.summary.total_ht, invoice.summary.total_ttc));
    assert!(credited.is_closed());
    assert_eq!(credited.refused(&all()).to_string(), "items: must add up to an amount above 0");
}

/// Rules: CREDIT-1, CREDIT-2
#[test]
fn the_last_part_of_a_line_takes_what_is_left_of_its_amount() {
    // 3 x 0.335 is 1.01, and each part of 1 is 0.34.
    let mut credited = Credited::of(&[("3", "0.335", "0")]);
    let lines = [(); 3].map(|()| credited.credit(&line(0, "1")).unwrap().lines.remove(0));
    assert_eq!(lines.clone().map(|line| line.total_ht.to_string()), ["0.34", "0.34", "0.33"]);
    assert_eq!(lines.each_ref().map(|line| &*line.description), ["Pose", "Pose", "Pose (solde)"]);
    assert_eq!(lines[2].unit_price.to_string(), "0.33");
    assert_eq!(credited.balance.line(0), Some((Quantity::ZERO, Money::ZERO)));
    assert!(credited.is_closed());
}

/// Rules: CREDIT-3
#[test]
fn parts_that_round_up_never_take_more_than_their_line() {
    // 10 x 0.005 is 0.05, and each part of 1 is 0.01.
    let mut credited = Credited::of(&[("10", "0.005", "0"), ("1", "100", "0")]);
    let totals = [(); 5].map(|()| credited.ttc(&line(0, "1")));
    assert_eq!(totals, ["0.01"; 5]);
    assert_eq!(credited.refused(&line(0, "1")).field, "items");
    assert_eq!(credited.ttc(&line(0, "1").quantity(1, 1)), "100.00");
    assert!(credited.is_closed());
}

/// Rules: CREDIT-2, CREDIT-4
#[test]
fn the_rest_after_reductions_names_what_was_reduced() {
    let mut credited = Credited::of(&[("2", "100", "20"), ("1", "50", "10")]);
    assert_eq!(credited.ttc(&reduction("20", "30.01")), "36.01");
    assert_eq!(credited.ttc(&line(0, "1")), "120.00");
    let content = credited.credit(&all()).unwrap();
    let shown = |line: &Line| (line.description.clone(), line.total_ht.to_string());
    let lines: Vec<_> = content.lines.iter().map(shown).collect();
    let expected = [("Pose", "100.00"), ("Pose", "50.00"), ("Réductions déjà accordées", "-30.01")];
    assert_eq!(lines, expected.map(|(text, amount)| (text.to_owned(), amount.to_owned())));
    assert_eq!(content.total_ttc.to_string(), "138.99");
    assert!(credited.is_closed());
}

/// Rules: CREDIT-1
#[test]
fn a_discount_line_is_credited_with_its_own_sign() {
    let mut credited = Credited::of(&[("1", "100", "20"), ("-2", "10", "20")]);
    assert_eq!(credited.refused(&line(1, "1")).field, "items[0].quantity");
    assert_eq!(credited.refused(&line(1, "-1")).field, "items");
    assert_eq!(credited.refused(&line(0, "1")).field, "items");
    assert_eq!(credited.ttc(&line(0, "0.5").quantity(1, -1)), "48.00");
    let content = credited.credit(&all()).unwrap();
    assert_eq!(content.lines[1].quantity.to_string(), "-1");
    assert_eq!(content.total_ttc.to_string(), "48.00");
    assert!(credited.is_closed());
}

/// Two lines and a discount of half at 20 %, and a line of another rate.
///
/// Rules: CREDIT-9
#[test]
fn a_discount_has_a_share_in_what_is_credited_of_its_rate() {
    let lines = [("4", "50", "20"), ("1", "100", "20"), ("-1", "150", "20"), ("1", "80", "10")];
    let mut credited = Credited::of(&lines);
    let shares = |credited: &Credited, new: &NewCreditNote| {
        let shares = credited.balance.discount_shares(&credited.invoice, &new.items).unwrap();
        shares.into_iter().map(|(line, share)| (line, share.to_string())).collect::<Vec<_>>()
    };
    let of_discount = |share: &str| vec![(2, share.to_owned())];
    assert_eq!(shares(&credited, &line(0, "2")), of_discount("-0.3333"));
    assert_eq!(shares(&credited, &line(0, "2").quantity(1, 1)), of_discount("-0.6667"));
    assert_eq!(shares(&credited, &line(0, "4").quantity(1, 1)), of_discount("-1"));
    // Neither a line of another rate nor a reduction has a share.
    for new in [line(3, "1"), reduction("20", "30"), part(), all()] {
        assert_eq!(shares(&credited, &new), []);
    }
    let more = credited.balance.discount_shares(&credited.invoice, &line(0, "5").items).unwrap_err();
    assert_eq!(more.field, "items[0].quantity");
    // The share is one of what is left.
    assert_eq!(credited.ttc(&line(0, "2").quantity(2, crate::quantity!(-0.3333))), "60.00");
    assert_eq!(shares(&credited, &line(0, "2")), of_discount("-0.3334"));
    assert_eq!(shares(&credited, &line(0, "2").quantity(1, 1)), of_discount("-0.6667"));
}

/// Rules: CREDIT-9
#[test]
fn a_discount_without_lines_of_its_rate_has_no_share() {
    let credited = Credited::of(&[("1", "100", "20"), ("-1", "10", "10"), ("1", "0", "10")]);
    let shares = credited.balance.discount_shares(&credited.invoice, &line(2, "1").items);
    assert_eq!(shares, Ok(Vec::new()));
}

/// Rules: CREDIT-3
#[test]
fn more_than_is_left_is_refused_by_name() {
    let mut credited = Credited::of(&[("2", "100", "20"), ("1", "50", "10")]);
    assert_eq!(credited.refused(&line(0, "2.0001")).field, "items[0].quantity");
    assert_eq!(credited.refused(&line(2, "1")).field, "items[0].line");
    assert_eq!(credited.refused(&line(0, "1.5").quantity(0, 1)).field, "items[1].quantity");
    let more = credited.refused(&reduction("10", "50.01"));
    assert_eq!(more.to_string(), "items: must credit at most 50.00 without VAT at the rate of 10 %");
    assert_eq!(credited.refused(&reduction("5.5", "1")).field, "items[0].tvaRate");
    assert_eq!(credited.refused(&line(0, "2").reduction("Remise", 20, 1)).field, "items");
    assert_eq!(credited.ttc(&reduction("10", "50")), "55.00");
    assert_eq!(credited.refused(&line(1, "1")).field, "items");
}

/// Rules: CREDIT-3, CREDIT-5
#[test]
fn nothing_is_never_credited_and_never_read_as_everything() {
    let mut credited = Credited::of(&[("2", "100", "20"), ("1", "0", "20")]);
    assert_eq!(credited.refused(&part()).to_string(), "items: must name something to credit");
    let both = credited.refused(&all().quantity(0, 1));
    assert_eq!(both.to_string(), "items: must be empty if all that is left is credited");
    assert_eq!(credited.refused(&line(0, "0")).field, "items[0].quantity");
    assert_eq!(credited.refused(&line(1, "1")).to_string(), "items: must add up to an amount above 0");
    for nothing in ["0", "-1"] {
        assert_eq!(credited.refused(&reduction("20", nothing)).field, "items[0].amount");
    }
    assert_eq!(credited.refused(&NewCreditNote::of_remaining(" ")).field, "reason");
    let unnamed = part().reduction(" ", 20, 1);
    assert_eq!(credited.refused(&unnamed).field, "items[0].description");
    let many = (0..=MAX_LINES).fold(part(), |new, _| new.reduction("Remise", 20, crate::money!(0.01)));
    assert_eq!(credited.refused(&many).to_string(), "items: must be at most 5,000");
}

/// A credit of all that remains is the only way to cancel an invoice, and so has no such bound.
///
/// Rules: RECORD-12, CREDIT-4
#[test]
fn more_than_2_mib_of_items_are_refused_and_the_rest_never_is() {
    let text = "x".repeat(LONG_TEXT);
    let new = (0..1_100).fold(part(), |new, _| new.reduction(text.as_str(), 20, 1));
    let mut credited = Credited::of(&[("1", "5000", "20"), ("2", "100", "20")]);
    let refused = credited.refused(&new);
    assert_eq!(refused.to_string(), "items: must have at most 2 MiB of JSON together");
    credited.invoice.lines[1].description = "x".repeat(MAX_LINES_BYTES);
    assert_eq!(credited.refused(&line(1, "1")).to_string(), refused.to_string());
    assert_eq!(credited.ttc(&all()), "6240.00");
}

/// Rates of opposite signs: the total could be credited while a rate stays open for good.
///
/// Rules: CREDIT-2, CREDIT-3
#[test]
fn the_whole_total_is_only_credited_with_every_rate() {
    let mut credited = Credited::of(&[("1", "100", "10"), ("-1", "50", "20")]);
    assert_eq!(credited.invoice.summary.total_ttc.to_string(), "50.00");
    let open = credited.refused(&reduction("10", "45.45"));
    assert_eq!(open.to_string(), "items: must not credit the whole total and leave a part of a rate");
    assert_eq!(credited.ttc(&reduction("10", "45")), "49.50");
    assert_eq!(credited.ttc(&all()), "0.50");
    assert!(credited.is_closed());
}

/// Rules: CREDIT-1, RECORD-14
#[test]
fn a_credit_note_takes_over_the_invoice_and_its_number() {
    let invoice = invoice_in(InvoiceStatus::Sent);
    let content = CreditableBalance::of(&invoice).credit(&invoice, &line(0, "1")).unwrap();
    let (note, changed) = CreditNote::issue(note_one(time(9)), &invoice, content).unwrap();
    let (summary, source) = (&note.summary, &invoice.summary);
    assert_eq!(
        (summary.number.as_str(), summary.invoice_number.as_str()),
        ("AVO-2026-0001", "FAC-2026-0007")
    );
    assert_eq!((summary.invoice_id, summary.quote_id), (source.id, source.quote_id));
    assert_eq!((summary.client_id, &summary.client_name), (source.client_id, &source.client_name));
    assert_eq!((summary.total_ttc, summary.tva_rate), (Money::from(55), Percent::from(10)));
    assert_eq!((summary.created_at, summary.updated_at), (at(9), at(9)));
    assert_eq!(summary.document_format, Some(DocumentFormat::Pdf.into()));
    assert_eq!(changed.record.detail.credit_notes, [summary.reference()]);
    assert_eq!(changed.record.summary.amount_credited, Money::from(55));
    assert_eq!(changed.record.lines, invoice.lines);
}

/// Rules: CREDIT-6
#[test]
fn only_an_issued_invoice_is_credited() {
    for status in [InvoiceStatus::Draft, InvoiceStatus::Canceled] {
        let invoice = invoice_in(status);
        let content = CreditableBalance::of(&invoice).credit(&invoice, &all()).unwrap();
        let refusal = CreditNote::issue(note_one(time(9)), &invoice, content).unwrap_err();
        assert!(matches!(refusal, DomainError::Conflict(_)), "{status}");
    }
    let sent = invoice_in(InvoiceStatus::Sent);
    let content = CreditableBalance::of(&sent).credit(&sent, &all()).unwrap();
    let issue = CreditNoteIssue { issue_date: NaiveDate::MAX, ..note_one(time(9)) };
    let refusal = CreditNote::issue(issue, &sent, content).unwrap_err();
    assert!(matches!(refusal, DomainError::Invalid(invalid) if invalid.field == "issueDate"));
}

/// What a random step credits: a share of a line's quantity, or of a rate's base.
#[derive(Debug, Clone)]
enum Step {
    Line(prop::sample::Index, i64),
    Rate(prop::sample::Index, i64),
    Remaining,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        6 => (index(), 1_i64..=100).prop_map(|(line, share)| Step::Line(line, share)),
        3 => (index(), 1_i64..=120).prop_map(|(rate, share)| Step::Rate(rate, share)),
        1 => Just(Step::Remaining),
    ]
}

/// Lines (quantity, price, rate) of some of these rates, and now and then a discount.
fn random_lines() -> impl Strategy<Value = Vec<(String, String, String)>> {
    let quantity = prop_oneof![8 => 1_i64..50_000, 1 => -9_000_i64..0];
    let rate = prop::sample::select(vec!["0", "5.5", "10", "20"]);
    let line = (quantity, 0_i64..3_000_000, rate).prop_map(|(quantity, price, rate)| {
        let decimal = |digits: i64| Decimal::new(digits, 4).normalize().to_string();
        (decimal(quantity), decimal(price), rate.to_owned())
    });
    prop::collection::vec(line, 1..6).prop_filter("a total below zero", |lines| is_creditable(lines))
}

fn is_creditable(lines: &[(String, String, String)]) -> bool {
    let total = |(quantity, price, _): &(String, String, String)| {
        quantity.parse::<Decimal>().unwrap() * price.parse::<Decimal>().unwrap()
    };
    // Room for a total with VAT that is not below zero in any mix of rates.
    let (positive, negative): (Vec<_>, Vec<_>) =
        lines.iter().map(total).partition(|amount| !amount.is_sign_negative());
    let (positive, negative): (Decimal, Decimal) = (positive.iter().sum(), negative.iter().sum());
    positive + negative * Decimal::TWO > Decimal::ONE
}

fn share_of(amount: Decimal, percent: i64, places: u32) -> Decimal {
    (amount * Decimal::new(percent, 2)).round_dp(places)
}

fn choose(step: &Step, credited: &Credited) -> Option<NewCreditNote> {
    match step {
        Step::Remaining => Some(all()),
        Step::Line(index, share) => {
            let index = index.index(credited.invoice.lines.len());
            let (left, _) = credited.balance.line(index)?;
            Some(part().quantity(index, Quantity::new(share_of(left.get(), *share, 4)).ok()?))
        }
        Step::Rate(index, share) => {
            let rates: Vec<_> = credited.balance.rates().collect();
            let rate = &rates[index.index(rates.len())];
            let amount = Money::new(share_of(rate.base_ht.get(), *share, 2)).ok()?;
            Some(part().reduction("Remise", rate.tva_rate, amount))
        }
    }
}

fn sum(contents: &[CreditContent], amount: fn(&CreditContent) -> Money) -> Decimal {
    contents.iter().map(|content| amount(content).get()).sum()
}

proptest! {
    /// Rules: CREDIT-2, CREDIT-3, CREDIT-4
    #[test]
    fn credits_never_exceed_the_invoice_and_close_every_rate(
        lines in random_lines(),
        steps in prop::collection::vec(step(), 0..25),
    ) {
        let lines: Vec<_> = lines.iter().map(|(q, p, r)| (q.as_str(), p.as_str(), r.as_str())).collect();
        let mut credited = Credited::of(&lines);
        let mut contents = Vec::new();
        for step in &steps {
            contents.extend(choose(step, &credited).and_then(|new| credited.credit(&new).ok()));
            let summary = &credited.invoice.summary;
            prop_assert!(sum(&contents, |content| content.total_ttc) <= summary.total_ttc.get());
            prop_assert!(sum(&contents, |content| content.total_ht) <= summary.total_ht.get());
        }
        let last = credited.credit(&all());
        prop_assert!(last.is_ok() || credited.is_closed(), "{last:?}, {:?}", credited.balance);
        contents.extend(last);
        prop_assert!(credited.is_closed());
        let summary = &credited.invoice.summary;
        prop_assert_eq!(sum(&contents, |content| content.total_ttc), summary.total_ttc.get());
        prop_assert_eq!(sum(&contents, |content| content.total_ht), summary.total_ht.get());
        for share in &credited.invoice.detail.vat_breakdown {
            let same = |s: &&VatShare| s.tva_rate == share.tva_rate;
            let shares = contents.iter().flat_map(|content| content.vat_breakdown.iter().filter(same));
            let (base, vat) = shares.fold((Decimal::ZERO, Decimal::ZERO), |(base, vat), share| {
                (base + share.base_ht.get(), vat + share.amount_tva.get())
            });
            prop_assert_eq!((base, vat), (share.base_ht.get(), share.amount_tva.get()));
        }
    }

    /// Rules: CREDIT-2, CREDIT-3
    #[test]
    fn the_vat_of_small_credits_is_within_a_cent(
        rate in prop::sample::select(vec!["2.1", "5.5", "8.5", "10", "20"]),
        cents in prop::collection::vec(1_u32..30, 1..100),
    ) {
        let mut credited = Credited::of(&[("1", "100", rate)]);
        for cents in cents {
            let amount = Decimal::new(cents.into(), 2).to_string();
            credited.credit(&reduction(rate, &amount)).unwrap();
        }
        credited.credit(&all()).unwrap();
        prop_assert!(credited.is_closed());
    }

    /// Rules: CREDIT-2
    #[test]
    fn a_full_credit_of_any_invoice_is_its_mirror(lines in random_lines()) {
        let lines: Vec<_> = lines.iter().map(|(q, p, r)| (q.as_str(), p.as_str(), r.as_str())).collect();
        let mut credited = Credited::of(&lines);
        let content = credited.credit(&all()).unwrap();
        prop_assert_eq!(&content.vat_breakdown, &credited.invoice.detail.vat_breakdown);
        prop_assert_eq!(&content.lines, &credited.invoice.lines);
    }

    /// Each step credits a share of what is left of the lines, and the last one all of it.
    ///
    /// Rules: CREDIT-9
    #[test]
    fn quantities_with_the_shares_of_discounts_add_up_to_the_invoice(
        goods in prop::collection::vec((1_i64..50_000, 100_i64..3_000_000, 0_usize..2), 1..5),
        discounts in prop::collection::vec((1_i64..30_000, 1_i64..50, 0_usize..2), 1..4),
        steps in prop::collection::vec(prop::collection::vec(1_i64..=100, 4), 0..6),
    ) {
        let lines = discounted(&goods, &discounts);
        let lines: Vec<_> = lines.iter().map(|(q, p, r)| (q.as_str(), p.as_str(), *r)).collect();
        let mut credited = Credited::of(&lines);
        let (mut totals, mut is_refused) = (vec![Decimal::ZERO; lines.len()], false);
        for step in steps.iter().chain([&vec![100; 4]]) {
            let entered = (0..goods.len()).fold(part(), |new, line| {
                let (left, _) = credited.balance.line(line).unwrap();
                let share = share_of(left.get(), step[line], 4);
                if share.is_zero() { new } else { new.quantity(line, Quantity::new(share).unwrap()) }
            });
            let shares = credited.balance.discount_shares(&credited.invoice, &entered.items).unwrap();
            let new = shares.into_iter().fold(entered, |new, (line, share)| new.quantity(line, share));
            let content = credited.credit(&new);
            is_refused = content.is_err();
            for part in content.into_iter().flat_map(|content| content.parts) {
                totals[part.line] += part.total_ht.get();
            }
        }
        prop_assert!(credited.is_closed());
        let invoiced: Vec<_> = credited.invoice.lines.iter().map(|line| line.total_ht.get()).collect();
        // By roundings, the last cents of the lines and of the discounts can be equal: nothing is
        // left to credit then.
        if is_refused {
            prop_assert_eq!(totals.iter().sum::<Decimal>(), invoiced.iter().sum::<Decimal>());
        } else {
            prop_assert_eq!(totals, invoiced);
        }
    }
}

/// Lines above zero of (quantity, price), and discounts of (quantity, percent of the lines of its
/// rate), whose rate is one of two. The discounts of a rate are less than its lines.
fn discounted(
    goods: &[(i64, i64, usize)],
    discounts: &[(i64, i64, usize)],
) -> Vec<(String, String, &'static str)> {
    let rates = ["20", "5.5"];
    let decimal = |value: Decimal| value.normalize().to_string();
    let of_goods = goods.iter().map(|(quantity, price, rate)| {
        (decimal(Decimal::new(*quantity, 4)), decimal(Decimal::new(*price, 4)), rates[*rate])
    });
    let base = |of: usize| {
        let lines = goods.iter().filter(|(.., rate)| *rate == of);
        lines
            .map(|(quantity, price, _)| Decimal::new(*quantity, 4) * Decimal::new(*price, 4))
            .sum::<Decimal>()
    };
    let of_discounts = discounts.iter().map(|(quantity, percent, rate)| {
        let quantity = Decimal::new(-quantity, 4);
        // At most three discounts of less than half, divided by 3.
        let amount = base(*rate) * Decimal::new(*percent, 2) / Decimal::from(3);
        (decimal(quantity), decimal((amount / quantity.abs()).round_dp(4)), rates[*rate])
    });
    of_goods.chain(of_discounts).collect()
}
