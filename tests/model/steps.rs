//! Steps as plain data, and their proptest strategies.
//!
//! A step refers to a record by its place, counted from the newest, modulo the number of records: after shrinking has
//! removed steps, the remaining ones are still valid.

use std::fmt;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// A record by its place from the newest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nth(pub(crate) u8);

/// The company whose handle is used, and the company that owns the record: seldom two different ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Who {
    pub(crate) through: usize,
    pub(crate) owner: usize,
}

/// A line, by places in lists of texts; quantity, price and rate in their smallest unit.
#[derive(Debug, Clone)]
pub(crate) struct LineSpec {
    pub(crate) text: u8,
    pub(crate) quantity: i64,
    pub(crate) price: i64,
    pub(crate) rate: i64,
    pub(crate) unit: u8,
}

/// The content of a quote. Days count from the company's today.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    pub(crate) client: Nth,
    pub(crate) lines: Vec<LineSpec>,
    pub(crate) retention: i64,
    pub(crate) until: Option<i16>,
}

/// A client, by places in lists of texts.
#[derive(Debug, Clone)]
pub(crate) struct ClientSpec {
    pub(crate) name: u8,
    pub(crate) email: u8,
    pub(crate) city: u8,
    pub(crate) kind: u8,
    pub(crate) external: u8,
}

/// The amount of a payment.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Cents(i64),
    Half,
    Remaining,
    TooMuch,
}

/// The content of a credit note.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Credit {
    /// A part of what is left at a rate, by the rate's place.
    Reduction(u8, Part),
    Remaining,
}

/// The reply of a receiver.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scripted {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u16>,
}

/// A page of a list. `since` goes back from the last stamp, in changes or in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) status: Option<u8>,
    pub(crate) limit: Option<u8>,
    pub(crate) offset: Option<u8>,
    pub(crate) since: Option<Since>,
    pub(crate) lines: bool,
    pub(crate) search: Option<u8>,
    pub(crate) external: Option<u8>,
}

/// An instant that `since` names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Since {
    /// The stamp of the event or record at this place.
    pub(crate) record: Nth,
    /// Moved by this number of milliseconds.
    pub(crate) plus: i8,
    /// Written with this offset in hours; 0 is `Z`.
    pub(crate) zone: i8,
}

/// One step of a case.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Forward(i64),
    Back(i64),
    NewClient(usize, ClientSpec),
    ChangeClient(Who, Nth, ClientSpec),
    NewQuote(Who, Content),
    Import(Who, Content, u8, Option<i16>, Option<i16>),
    Edit(Who, Nth, Content),
    EditSame(Who, Nth),
    Send(Who, Nth, Option<i16>),
    Accept(Who, Nth),
    Reject(Who, Nth),
    Link(Who, Nth, u8),
    SigningLink(Who, Nth),
    Sign(Nth, u8),
    Decline(Nth),
    Convert(Who, Nth),
    Issue(Who, Nth, Option<i16>),
    Pay(Who, Nth, Part, Option<u8>),
    MarkPaid(Who, Nth),
    Reverse(Who, Nth, Nth),
    Cancel(Who, Nth),
    Credit(Who, Nth, Credit),
    Refund(Who, Nth, Part),
    NewProject(Who, Option<Nth>, Vec<Nth>),
    MoveProject(Who, Nth, u8),
    Register(usize, u8, u8),
    ChangeHook(Who, Nth, Option<u8>, Option<u8>),
    Disable(Who, Nth),
    Enable(Who, Nth),
    /// Since this number of milliseconds ago, or since the webhook was disabled.
    EnableAndReplay(Who, Nth, Option<u32>),
    /// With an overlap of this number of milliseconds, or without.
    Rotate(Who, Nth, Option<u32>),
    EndOverlap(Who, Nth),
    Remove(Who, Nth),
    Ping(Who, Nth),
    Replay(Who, Nth, Option<Nth>),
    Dispatch(Vec<Vec<Scripted>>),
    Sweep,
    ListQuotes(usize, Query),
    ListInvoices(usize, Query),
    ListCreditNotes(usize, Query),
    ListClients(usize, Query),
    BadQuery(usize, u8),
    GetQuote(Who, Nth),
    GetInvoice(Who, Nth),
    GetDocument(Who, Nth),
    PatchQuote(Who, Nth, u8),
    PostClient(usize, ClientSpec, u8),
    Burst(usize, u8),
}

/// A whole case.
#[derive(Clone)]
pub(crate) struct Script {
    /// The index of the instant at which the case begins.
    pub(crate) start: u8,
    /// Attempts one after the other, so that replies can differ within one run of the dispatcher.
    pub(crate) serial: bool,
    pub(crate) steps: Vec<Step>,
}

impl fmt::Debug for Script {
    /// Prints one line per step, in the alternate form too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "start {}, serial {}", self.start, self.serial)?;
        self.steps.iter().enumerate().try_for_each(|(n, step)| writeln!(f, "{n:4}  {step:?}"))
    }
}

/// Cases of up to about `max` steps.
pub(crate) fn scripts(max: usize) -> impl Strategy<Value = Script> {
    let group = prop_oneof![
        30 => step().prop_map(|step| vec![step]),
        4 => deal(),
        1 => storm(),
    ];
    (0..4_u8, any::<bool>(), 0..9_u8, vec(group, 1..max)).prop_map(move |(start, serial, url, groups)| {
        let mut steps = beginning(url);
        steps.extend(groups.into_iter().flatten());
        steps.truncate(max);
        Script { start, serial, steps }
    })
}

/// A client, a project and a webhook for everything in each company.
fn beginning(url: u8) -> Vec<Step> {
    let client = ClientSpec { name: 0, email: 1, city: 1, kind: 0, external: 0 };
    let mut steps = Vec::new();
    for company in 0..2 {
        let who = Who { through: company, owner: company };
        steps.push(Step::NewClient(company, client.clone()));
        steps.push(Step::NewProject(who, Some(Nth(0)), Vec::new()));
        steps.push(Step::Register(company, url, u8::MAX));
        steps.push(Step::Register(company, 0, u8::MAX));
    }
    steps
}

/// Enough events for a webhook to be disabled if its receiver refuses them.
fn storm() -> impl Strategy<Value = Vec<Step>> {
    (0..2_usize, 8..14_usize, dispatch(), any::<bool>()).prop_map(|(company, count, dispatch, again)| {
        let who = Who { through: company, owner: company };
        let completed = |n: usize| Step::MoveProject(who, Nth(0), u8::from(n.is_multiple_of(2)));
        let mut steps: Vec<Step> = (0..2 * count).map(completed).collect();
        steps.push(dispatch.clone());
        if again {
            // Deliveries end 8 at a time.
            for wait in [1_200, 6_000, 1_200, 6_000] {
                steps.extend([Step::Forward(wait), dispatch.clone()]);
            }
        }
        steps
    })
}

/// A quote that goes some way towards a paid invoice.
fn deal() -> impl Strategy<Value = Vec<Step>> {
    (0..2_usize, content(), any::<bool>(), 2..12_usize).prop_map(|(company, mut content, signed, length)| {
        content.until = content.until.map(|days| days.abs() + 1);
        content.retention = content.retention.clamp(0, 500);
        let (who, newest) = (Who { through: company, owner: company }, Nth(0));
        let mut steps = vec![Step::NewQuote(who, content), Step::Send(who, newest, None)];
        if signed {
            steps.extend([Step::SigningLink(who, newest), Step::Sign(newest, 0)]);
        } else {
            steps.push(Step::Accept(who, newest));
        }
        steps.extend([Step::Convert(who, newest), Step::Issue(who, newest, None)]);
        steps.extend([
            Step::Pay(who, newest, Part::Half, Some(0)),
            Step::Credit(who, newest, Credit::Reduction(0, Part::Half)),
            Step::Pay(who, newest, Part::Remaining, Some(1)),
            Step::Credit(who, newest, Credit::Remaining),
            Step::Refund(who, newest, Part::Half),
            Step::Refund(who, newest, Part::Remaining),
        ]);
        steps.truncate(length);
        steps
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => time(),
        16 => quotes(),
        18 => invoices(),
        6 => clients_and_projects(),
        10 => hooks(),
        12 => dispatch(),
        2 => Just(Step::Sweep),
        16 => api(),
    ]
}

fn time() -> impl Strategy<Value = Step> {
    const DAY: i64 = 86_400_000;
    prop_oneof![
        4 => (0..2_500_i64).prop_map(Step::Forward),
        4 => (1_000..40_000_i64).prop_map(Step::Forward),
        2 => (60_000..100 * 60_000_i64).prop_map(Step::Forward),
        2 => (0..2 * DAY).prop_map(Step::Forward),
        2 => (DAY..45 * DAY).prop_map(Step::Forward),
        1 => (85 * DAY..95 * DAY).prop_map(Step::Forward),
        1 => (1..10_000_i64).prop_map(Step::Back),
    ]
}

fn nth() -> impl Strategy<Value = Nth> {
    prop_oneof![4 => 0..2_u8, 2 => 0..5_u8, 1 => any::<u8>()].prop_map(Nth)
}

fn who() -> impl Strategy<Value = Who> {
    (0..2_usize, prop_oneof![19 => Just(0_usize), 1 => Just(1)])
        .prop_map(|(through, other)| Who { through, owner: (through + other) % 2 })
}

fn line() -> impl Strategy<Value = LineSpec> {
    let quantity = prop_oneof![20 => 1..500_000_i64, 6 => Just(10_000), 1 => -20_000..0_i64, 1 => Just(0)];
    let price = prop_oneof![30 => 0..5_000_000_i64, 6 => Just(330_000), 3 => Just(5_i64), 1 => -3..0_i64];
    // Of rates that are in force, as another one is refused once a quote is sent.
    let rate = prop_oneof![
        32 => prop_oneof![Just(2_000_i64), Just(1_000), Just(550), Just(210)],
        6 => prop_oneof![Just(1_300_i64), Just(850), Just(175), Just(105), Just(90)],
        1 => prop_oneof![Just(-1_i64), Just(10_001)],
    ];
    (0..60_u8, quantity, price, rate, 0..3_u8).prop_map(|(text, quantity, price, rate, unit)| LineSpec {
        text,
        quantity,
        price,
        rate,
        unit,
    })
}

fn content() -> impl Strategy<Value = Content> {
    let lines = prop_oneof![12 => vec(line(), 1..4), 1 => Just(Vec::new())];
    let retention = prop_oneof![8 => Just(0_i64), 8 => 0..501_i64, 1 => prop_oneof![Just(-1_i64), Just(501)]];
    (nth(), lines, retention, option::of(-3..40_i16)).prop_map(|(client, lines, retention, until)| Content {
        client,
        lines,
        retention,
        until,
    })
}

fn client() -> impl Strategy<Value = ClientSpec> {
    (0..16_u8, 0..8_u8, 0..4_u8, 0..3_u8, 0..12_u8)
        .prop_map(|(name, email, city, kind, external)| ClientSpec { name, email, city, kind, external })
}

fn quotes() -> impl Strategy<Value = Step> {
    let import = (who(), content(), 0..5_u8, option::of(-60..2_i16), option::of(-30..2_i16));
    prop_oneof![
        6 => (who(), content()).prop_map(|(who, content)| Step::NewQuote(who, content)),
        2 => import.prop_map(|(who, content, status, sent, accepted)| Step::Import(who, content, status, sent, accepted)),
        2 => (who(), nth(), content()).prop_map(|(who, quote, content)| Step::Edit(who, quote, content)),
        1 => (who(), nth()).prop_map(|(who, quote)| Step::EditSame(who, quote)),
        6 => (who(), nth(), option::of(-2..60_i16)).prop_map(|(who, quote, until)| Step::Send(who, quote, until)),
        4 => (who(), nth()).prop_map(|(who, quote)| Step::Accept(who, quote)),
        3 => (who(), nth()).prop_map(|(who, quote)| Step::Reject(who, quote)),
        2 => (who(), nth(), 0..5_u8).prop_map(|(who, quote, to)| Step::Link(who, quote, to)),
        4 => (who(), nth()).prop_map(|(who, quote)| Step::SigningLink(who, quote)),
        5 => (nth(), 0..5_u8).prop_map(|(link, signer)| Step::Sign(link, signer)),
        2 => nth().prop_map(Step::Decline),
    ]
}

fn part() -> impl Strategy<Value = Part> + Clone {
    prop_oneof![
        3 => (0..200_000_i64).prop_map(Part::Cents),
        3 => Just(Part::Half),
        3 => Just(Part::Remaining),
        1 => Just(Part::TooMuch),
    ]
}

fn invoices() -> impl Strategy<Value = Step> {
    let credit = prop_oneof![
        4 => (0..3_u8, part()).prop_map(|(rate, part)| Credit::Reduction(rate, part)),
        1 => Just(Credit::Remaining),
    ];
    prop_oneof![
        5 => (who(), nth()).prop_map(|(who, quote)| Step::Convert(who, quote)),
        4 => (who(), nth(), option::of(-2..40_i16)).prop_map(|(who, invoice, due)| Step::Issue(who, invoice, due)),
        6 => (who(), nth(), part(), option::of(0..3_u8)).prop_map(|(who, invoice, part, reference)| Step::Pay(who, invoice, part, reference)),
        2 => (who(), nth()).prop_map(|(who, invoice)| Step::MarkPaid(who, invoice)),
        3 => (who(), nth(), nth()).prop_map(|(who, invoice, payment)| Step::Reverse(who, invoice, payment)),
        2 => (who(), nth()).prop_map(|(who, invoice)| Step::Cancel(who, invoice)),
        4 => (who(), nth(), credit).prop_map(|(who, invoice, credit)| Step::Credit(who, invoice, credit)),
        3 => (who(), nth(), part()).prop_map(|(who, invoice, part)| Step::Refund(who, invoice, part)),
    ]
}

fn clients_and_projects() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..2_usize, client()).prop_map(|(company, client)| Step::NewClient(company, client)),
        2 => (who(), nth(), client()).prop_map(|(who, nth, client)| Step::ChangeClient(who, nth, client)),
        2 => (who(), option::of(nth()), vec(nth(), 0..3)).prop_map(|(who, client, quotes)| Step::NewProject(who, client, quotes)),
        6 => (who(), nth(), 0..3_u8).prop_map(|(who, project, to)| Step::MoveProject(who, project, to)),
    ]
}

fn hook() -> impl Strategy<Value = Step> {
    let kinds = prop_oneof![4 => Just(u8::MAX), 4 => 1..=u8::MAX, 1 => Just(0)];
    (0..2_usize, 0..9_u8, kinds).prop_map(|(company, url, kinds)| Step::Register(company, url, kinds))
}

fn hooks() -> impl Strategy<Value = Step> {
    let kinds = option::of(prop_oneof![8 => 1..=u8::MAX, 1 => Just(0)]);
    prop_oneof![
        4 => hook(),
        1 => (who(), nth(), option::of(0..9_u8), kinds).prop_map(|(who, hook, url, kinds)| Step::ChangeHook(who, hook, url, kinds)),
        2 => (who(), nth()).prop_map(|(who, hook)| Step::Disable(who, hook)),
        3 => (who(), nth()).prop_map(|(who, hook)| Step::Enable(who, hook)),
        2 => (who(), nth(), option::of(0..10_000_u32))
            .prop_map(|(who, hook, since)| Step::EnableAndReplay(who, hook, since)),
        2 => (who(), nth(), option::of(1..100_000_u32))
            .prop_map(|(who, hook, overlap)| Step::Rotate(who, hook, overlap)),
        1 => (who(), nth()).prop_map(|(who, hook)| Step::EndOverlap(who, hook)),
        1 => (who(), nth()).prop_map(|(who, hook)| Step::Remove(who, hook)),
        4 => (who(), nth()).prop_map(|(who, hook)| Step::Ping(who, hook)),
        4 => (who(), nth(), option::of(nth())).prop_map(|(who, hook, event)| Step::Replay(who, hook, event)),
    ]
}

fn dispatch() -> impl Strategy<Value = Step> {
    let scripted = prop_oneof![
        6 => Just((200_u16, None)),
        4 => Just((500, None)),
        4 => Just((404, None)),
        1 => Just((301, None)),
        2 => (Just(429_u16), option::of(0..90_u16)),
        1 => (Just(503_u16), option::of(0..90_u16)),
    ];
    let scripted = scripted.prop_map(|(status, retry_after)| Scripted { status, retry_after });
    vec(vec(scripted, 1..4), 3).prop_map(Step::Dispatch)
}

fn query() -> impl Strategy<Value = Query> {
    let since = (nth(), -1..2_i8, -11..12_i8).prop_map(|(record, plus, zone)| Since { record, plus, zone });
    let limit = option::of(prop_oneof![4 => 1..4_u8, 1 => Just(100)]);
    let texts = (option::of(0..12_u8), option::of(0..4_u8));
    (option::of(0..5_u8), limit, option::of(0..5_u8), option::of(since), any::<bool>(), texts).prop_map(
        |(status, limit, offset, since, lines, (search, external))| Query {
            status,
            limit,
            offset,
            since,
            lines,
            search,
            external,
        },
    )
}

fn api() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2_usize, query()).prop_map(|(company, query)| Step::ListQuotes(company, query)),
        3 => (0..2_usize, query()).prop_map(|(company, query)| Step::ListInvoices(company, query)),
        2 => (0..2_usize, query()).prop_map(|(company, query)| Step::ListCreditNotes(company, query)),
        3 => (0..2_usize, query()).prop_map(|(company, query)| Step::ListClients(company, query)),
        1 => (0..2_usize, any::<u8>()).prop_map(|(company, which)| Step::BadQuery(company, which)),
        2 => (who(), nth()).prop_map(|(who, quote)| Step::GetQuote(who, quote)),
        2 => (who(), nth()).prop_map(|(who, invoice)| Step::GetInvoice(who, invoice)),
        2 => (who(), nth()).prop_map(|(who, quote)| Step::GetDocument(who, quote)),
        3 => (who(), nth(), 0..9_u8).prop_map(|(who, quote, body)| Step::PatchQuote(who, quote, body)),
        3 => (0..2_usize, client(), 0..12_u8).prop_map(|(company, client, flaw)| Step::PostClient(company, client, flaw)),
        1 => (0..2_usize, 1..35_u8).prop_map(|(company, calls)| Step::Burst(company, calls)),
    ]
}
