//! The integers beside the JSON of each record: they say the same.

use serde_json::Value;

use super::{Run, Verdict, text};

/// Every record with integers: their names and values in two lists, then its JSON.
const STORED: &str = "
    SELECT concat('totalHT totalTTC tvaRate retentionRate retentionAmount|', total_ht_cents, ' ', total_ttc_cents, ' ',
        tva_rate_bp, ' ', retention_rate_bp, ' ', retention_amount_cents, '|', summary, ',', detail) FROM quote
    UNION ALL
    SELECT concat('totalHT totalTTC tvaRate retentionRate retentionAmount retentionDue amountPaid amountDue amountOverpaid ',
        'amountCredited amountWrittenOff|', total_ht_cents, ' ', total_ttc_cents, ' ', tva_rate_bp, ' ', retention_rate_bp,
        ' ', retention_amount_cents, ' ', retention_due_cents, ' ', amount_paid_cents, ' ', amount_due_cents, ' ',
        amount_overpaid_cents, ' ', amount_credited_cents, ' ', amount_written_off_cents, '|', summary, '}') FROM invoice
    UNION ALL
    SELECT concat('totalHT totalTTC tvaRate|', total_ht_cents, ' ', total_ttc_cents, ' ', tva_rate_bp, '|', summary, '}')
    FROM credit_note
    UNION ALL
    SELECT concat('amount|', amount_cents, '|', record) FROM payment";

impl Run {
    /// Compares the integers of all records with their JSON.
    pub(super) async fn check_amounts(&mut self) -> Verdict {
        for row in self.behind.all::<String>(STORED, &[]).await {
            let mut parts = row.splitn(3, '|');
            let (Some(names), Some(integers), Some(json)) = (parts.next(), parts.next(), parts.next()) else {
                return Err(format!("{row} has three parts"));
            };
            let json: Value = serde_json::from_str(json).map_err(text)?;
            for (name, integer) in names.split(' ').zip(integers.split(' ')) {
                let amount: rust_decimal::Decimal = json[name].to_string().parse().map_err(text)?;
                let expected = (amount * rust_decimal::Decimal::ONE_HUNDRED).normalize().to_string();
                if integer != expected {
                    return Err(format!("{name} is stored as {integer} beside {json}"));
                }
            }
        }
        Ok(())
    }
}
