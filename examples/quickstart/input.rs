//! The painter's job, from the data file.

use invoicing_core::{ClientId, NewClient, NewCompany, NewLine, NewQuote, Percent};
use invoicing_examples::Failure;
use serde::Deserialize;

/// The content of `data/renovation.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Renovation {
    pub(crate) company: NewCompany,
    pub(crate) client: NewClient,
    pub(crate) project: String,
    retention_rate: Percent,
    lines: Vec<NewLine>,
}

impl Renovation {
    pub(crate) fn read() -> Result<Self, Failure> {
        Ok(serde_json::from_str(include_str!("../data/renovation.json"))?)
    }

    pub(crate) fn quote(&self, client_id: ClientId) -> NewQuote {
        NewQuote::empty(client_id).lines(self.lines.clone()).retention_rate(self.retention_rate)
    }

    /// A second, smaller job: the first line only.
    pub(crate) fn small_quote(&self, client_id: ClientId) -> NewQuote {
        NewQuote { lines: self.lines[..1].to_vec(), ..self.quote(client_id) }
    }

    /// Everything that must never leave the company, as it would look in a text.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets: Vec<String> =
            ["costing", "labourCost", "materialCost", "privateNote", "subcontractor"]
                .map(str::to_owned)
                .into();
        for costing in self.lines.iter().map(|line| &line.costing) {
            secrets.extend(costing.private_note.clone());
            secrets.extend(costing.subcontractor.clone());
            secrets.extend(costing.labour_cost.map(|cost| cost.get().to_string()));
            secrets.extend(costing.material_cost.map(|cost| cost.get().to_string()));
        }
        secrets
    }
}
