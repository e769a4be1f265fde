//! Deliveries that a receiver has to refuse, and unusual ones that it has to take.

#![expect(clippy::unwrap_used, reason = "a helper that fails its test is what a helper is for")]

use serde_json::json;
use webhook_verify::Signer;

use super::deliveries::Delivery;

/// Makes deliveries of a genuine one.
pub(crate) struct Sender {
    signer: Signer,
    genuine: Delivery,
}

impl Sender {
    pub(crate) fn new(secret: &str, genuine: &Delivery) -> Self {
        Self { signer: Signer::new(secret).unwrap(), genuine: genuine.clone() }
    }

    /// A delivery that was changed on the way, signed by another, or has no signature.
    pub(crate) fn forged(&self) -> Vec<Delivery> {
        let Delivery { signature, body } = &self.genuine;
        let (t, v1) = signature.split_once(",v1=").unwrap();
        let of_another = Signer::new("whsec_another").unwrap().sign_now(body).as_str().to_owned();
        let signatures = [
            String::new(),
            ",".to_owned(),
            "=".to_owned(),
            "t,v1".to_owned(),
            "t=,v1=".to_owned(),
            t.to_owned(),
            format!("v1={v1}"),
            format!("{t}0,v1={v1}"),
            format!("{t},{t},v1={v1}"),
            format!("{t},v1={}", v1.to_uppercase()),
            format!("{t},v1={}", &v1[..63]),
            format!("{t},v0={v1}"),
            format!("t=now,v1={v1}"),
            format!("t=09,v1={v1}"),
            format!("t=-{},v1={v1}", &t[2..]),
            of_another,
        ];
        let forged = signatures.map(|signature| Delivery { signature, body: body.clone() });
        let earlier = Delivery { body: self.event(1), ..self.genuine.clone() };
        assert_ne!(earlier.body, *body);
        forged.into_iter().chain([earlier]).collect()
    }

    /// Deliveries at the ends of the tolerance, and whether they are within it.
    ///
    /// Ten seconds beside the 300 are for the test, which may be slow; each one is signed as it is taken, so that the
    /// checks before it take nothing of its ten. The first one is exact: it only gets older.
    pub(crate) fn aged(&self) -> impl Iterator<Item = (Delivery, bool)> {
        [(301, false), (-310, false), (290, true), (-290, true)]
            .into_iter()
            .map(|(age, is_taken)| (self.signed(self.genuine.body.clone(), age), is_taken))
    }

    /// One event with two signatures, as while a secret is being replaced: either may be the one that fits.
    pub(crate) fn replaced(&self) -> [Delivery; 2] {
        let Delivery { signature, body } = self.new_event(2);
        let (t, v1) = signature.split_once(",v1=").unwrap();
        let other = "0".repeat(64);
        [format!("{t},v1={other},v1={v1}"), format!("{t},v1={v1},v1={other}")]
            .map(|signature| Delivery { signature, body: body.clone() })
    }

    /// Events of a later version, one of them about something that has no id.
    pub(crate) fn later(&self) -> [Delivery; 2] {
        let mut archived = self.genuine.json();
        archived["event"] = json!("quote.archived");
        archived["data"]["archivedBy"] = json!({"name": "Zoé"});
        let mut closed = self.genuine.json();
        closed["event"] = json!("year.closed");
        closed["data"] = json!({"year": 2020});
        [archived, closed].map(|event| self.signed(event.to_string().into_bytes(), 0))
    }

    /// An event about an invoice that does not exist.
    pub(crate) fn of_nothing(&self, years: u32) -> Delivery {
        let mut event = self.genuine.json();
        event["event"] = json!("invoice.paid");
        event["timestamp"] = json!(format!("{}-01-01T00:00:00.000Z", 2020 - years));
        event["data"]["id"] = json!("01a09f4a-afb3-7002-bf2b-1017cfc3644f");
        self.signed(event.to_string().into_bytes(), 0)
    }

    /// The genuine event, had it happened some years earlier.
    fn event(&self, years: u32) -> Vec<u8> {
        let mut event = self.genuine.json();
        event["timestamp"] = json!(format!("{}-01-01T00:00:00.000Z", 2020 - years));
        event.to_string().into_bytes()
    }

    pub(crate) fn new_event(&self, years: u32) -> Delivery {
        self.signed(self.event(years), 0)
    }

    fn signed(&self, body: Vec<u8>, seconds_ago: i64) -> Delivery {
        let signature = self.signer.sign(Delivery::now() - seconds_ago, &body);
        Delivery { signature: signature.as_str().to_owned(), body }
    }
}
