//! The checks of the whole.

use http_body_util::{BodyExt, Empty};
use invoicing_core::QuoteId;
use invoicing_examples::Failure;

use crate::receiver::Delivery;
use crate::story::Story;

impl Story {
    /// The received deliveries are exactly the recorded ones.
    pub(crate) async fn nothing_lost_or_doubled(&mut self) -> Result<(), Failure> {
        let recorded = self.company.events().list(None, 1_000).await?;
        let mut expected = Vec::new();
        for event in &recorded {
            let envelope: Delivery = serde_json::from_str(&event.body)?;
            expected.push((envelope.key(), event.id.to_string()));
        }
        let mut handled = self.integration.handled.clone();
        expected.sort_unstable();
        handled.sort_unstable();
        self.timeline.check(handled == expected, "every event came once, and nothing else")?;
        self.timeline.check(self.deliveries.is_empty(), "nothing came that was not waited for")?;
        self.say("check", format_args!("{} events happened, each arrived exactly once", expected.len()));
        Ok(())
    }

    /// Looks for internal costs, notes and subcontractors in all that came, and in answers as they are on the wire.
    pub(crate) async fn nothing_private_came_out(&mut self, quote: QuoteId) -> Result<(), Failure> {
        for path in [format!("/api/v1/quotes/{quote}"), "/api/v1/quotes?include=lines".to_owned()] {
            let request = http::Request::get(&path).header("authorization", format!("Bearer {}", self.key));
            let answer =
                self.host.invoicing.service().answer(request.body(Empty::<bytes::Bytes>::new())?).await;
            self.timeline.check(answer.status().is_success(), format_args!("GET {path}"))?;
            let left = answer.headers().get("ratelimit-remaining").and_then(|left| left.to_str().ok());
            self.say("check", format_args!("GET {path}: {} of 30 requests left", left.unwrap_or("?")));
            self.integration.received.push(answer.into_body().collect().await?.to_bytes().to_vec());
        }
        let received: Vec<_> =
            self.integration.received.iter().map(|body| String::from_utf8_lossy(body)).collect();
        let list = received.last().ok_or("something was received")?;
        self.timeline.check(list.contains("\"externalId\":\"deal-DEV-"), "the list shows the link")?;
        let secrets = self.input.secrets();
        for secret in &secrets {
            let leaked = received.iter().any(|body| body.contains(secret.as_str()));
            self.timeline.check(!leaked, format_args!("{secret:?} is in no body"))?;
        }
        let (texts, bodies) = (secrets.len(), received.len());
        self.say("check", format_args!("none of {texts} internal texts and costs in any of {bodies} bodies"));
        Ok(())
    }
}
