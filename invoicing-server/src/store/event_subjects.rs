//! The subjects of events, read from their bodies, so that a page of events names the records.

use std::collections::HashMap;

use invoicing_core::EventId;
use sqlx::FromRow;
use uuid::Uuid;

use super::connection::Sql;
use super::events::EventTable;
use crate::error::Error;
use crate::records::EventSubject;

#[derive(FromRow)]
struct BodyRow {
    id: Uuid,
    body: String,
}

impl EventTable<'_> {
    /// The subjects of some events. Reads each event by its key, as a page of them is small.
    pub(super) async fn subjects(
        &mut self,
        events: &Vec<Uuid>,
    ) -> Result<HashMap<EventId, EventSubject>, Error> {
        const BODIES: Sql = Sql {
            sqlite: "
                SELECT e.id, e.body FROM json_each($2) j
                CROSS JOIN event e ON e.company_id = $1 AND e.id = unhex(j.value)",
            // The limit makes the planner look the events up one by one.
            postgres:
                "
                SELECT e.id, e.body FROM unnest($2::uuid[]) AS j(id)
                CROSS JOIN LATERAL (SELECT id, body FROM event WHERE company_id = $1 AND id = j.id LIMIT 1) e",
        };
        let rows: Vec<BodyRow> = self.0.query(BODIES, &[events]).fetch_all().await?;
        let named = rows.iter().filter_map(|row| Some((EventId(row.id), EventSubject::read(&row.body)?)));
        Ok(named.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_names_its_record() {
        let id = "01a09f52-9901-7001-bb1c-ab70f0551d8f";
        let read = |fields: &str| EventSubject::read(&format!("{{\"data\":{{\"id\":\"{id}\"{fields}}}}}"));
        let of = |name: Option<&str>, client: Option<&str>| {
            let text = |text: Option<&str>| text.map(str::to_owned);
            Some(EventSubject { id: id.parse().unwrap(), name: text(name), client: text(client) })
        };
        assert_eq!(read(r#","number":"DEV-1","clientName":"A""#), of(Some("DEV-1"), Some("A")));
        assert_eq!(read(r#","number":null,"clientName":"A""#), of(None, Some("A")));
        assert_eq!(read(r#","name":"Kitchen","clientName":null"#), of(Some("Kitchen"), None));
        assert_eq!(read(r#","message":"a test""#), of(None, None));
        for other in ["", "{}", "{\"data\":{}}", "{\"data\":{\"id\":1}}"] {
            assert_eq!(EventSubject::read(other), None, "{other}");
        }
    }
}
