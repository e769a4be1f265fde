//! The table of failed deliveries: each cause, with the advice about it.

use invoicing_core::{Advice, FailureClass};
use maud::{Markup, html};

/// Every status that has an advice, and every failure class.
pub(super) fn table() -> Markup {
    let statuses = Advice::STATUSES.iter();
    let statuses = statuses.filter_map(|status| Some((status.to_string(), Advice::on_status(*status)?)));
    let classes = FailureClass::ALL.iter().map(|class| (class.as_str().to_owned(), class.advice()));
    html! {
        p { "Each attempt is shown in the product with the status of your answer, or with why there was none:" }
        div.scroll {
            table.fields {
                thead { tr { th scope="col" { "Outcome" } th scope="col" { "What to do" } } }
                tbody {
                    @for (outcome, advice) in statuses.chain(classes) {
                        tr { th scope="row" { code { (outcome) } } td { (advice.english) } }
                    }
                }
            }
        }
    }
}
