//! A new invoice without a quote: a client is found, then the lines are entered.

use invoicing_core::internal::LONG_TEXT;
use invoicing_core::{Client, ClientId, Invalid, NewLine, NewQuote, Percent, Quantity, Rule, UnitPrice};
use maud::{Markup, html};

use crate::console::clients;
use crate::console::error::PageError;
use crate::console::figures::Figures;
use crate::console::form::Form;
use crate::console::inputs::{Input, InputKind, ORDER_NUMBER, number, order_number, problem_of, value};
use crate::console::layout::{Chapter, PageContent, entered};
use crate::console::request::{Outcome, PageRequest};
use crate::error::Error;

/// Lines of the form.
const LINES: usize = 5;
/// The parts of a line, by the names that operations use.
const PARTS: [&str; 5] = ["description", "quantity", "unit", "unitPrice", "tvaRate"];

/// `GET /invoices/new`. `q`: part of the client's name, e-mail or town. `client`: the chosen one.
pub(in crate::console) async fn new(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    if request.form.given("client").is_none() {
        return search(request).await;
    }
    Ok(page(request, &chosen(request).await?, None))
}

/// `POST /invoices`. `client`, `orderNumber`, and the lines as `lines[0].description`, `lines[0].quantity` and so
/// on.
pub(in crate::console) async fn make(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let client = chosen(request).await?;
    let made = match lines(request.figures(), &request.form) {
        Ok(lines) => {
            let order_number = request.form.given(ORDER_NUMBER).map(str::to_owned);
            let content = NewQuote { lines, order_number, ..NewQuote::empty(client.id) };
            request.company.invoices().create_direct(&content).await
        }
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(invoice) => Ok(Outcome::See(format!("/invoices/{}?done=made", invoice.summary.id))),
        Err(error) => Outcome::refused(error, |error| page(request, &client, Some(error))),
    }
}

/// The client that the page before has named.
async fn chosen(request: &PageRequest<'_>) -> Result<Client, PageError> {
    let id: ClientId = request.form.text("client").parse().map_err(|_| PageError::NOT_FOUND)?;
    Ok(request.company.clients().get(id).await?)
}

fn name(line: usize, part: &str) -> String {
    format!("lines[{line}].{part}")
}

/// True if a line of the form is left out. Quantity and rate are filled in beforehand.
fn is_left_out(form: &Form, line: usize) -> bool {
    ["description", "unitPrice"].iter().all(|part| form.given(&name(line, part)).is_none())
}

/// The lines of the form. A gap between them is refused, as errors name lines by their place.
fn lines(figures: Figures<'_>, form: &Form) -> Result<Vec<NewLine>, Invalid> {
    let count = (0..LINES).rev().find(|line| !is_left_out(form, *line)).map_or(0, |last| last + 1);
    (0..count).map(|index| line(figures, form, index)).collect()
}

fn line(figures: Figures<'_>, form: &Form, index: usize) -> Result<NewLine, Invalid> {
    let name = |part: &str| name(index, part);
    if form.given(&name("description")).is_none() {
        return Err(Invalid::new(name("description"), Rule::Characters { max: LONG_TEXT }));
    }
    let quantity: Quantity = number(figures, form, &name("quantity"))?;
    let price: UnitPrice = number(figures, form, &name("unitPrice"))?;
    let rate: Percent = number(figures, form, &name("tvaRate"))?;
    let line = NewLine::new(form.text(&name("description")), quantity, price, rate);
    Ok(NewLine { unit: form.given(&name("unit")).map(str::to_owned), ..line })
}

/// The first step: a client is found.
async fn search(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let title = title(request);
    let found = clients::search(request, "/invoices/new", |id| format!("/invoices/new?client={id}")).await?;
    let body = html! {
        h1 { (title) }
        (found)
        p.soft { a href=(request.link("/clients/new")) { (request.pick("New client", "Nouveau client")) } }
    };
    Ok(PageContent::new(title, Chapter::Invoices, body))
}

fn title<'t>(request: &'t PageRequest<'_>) -> &'t str {
    request.pick("New invoice without a quote", "Nouvelle facture sans devis")
}

/// The second step.
fn page(request: &PageRequest<'_>, client: &Client, error: Option<&Error>) -> PageContent {
    let names: Vec<_> = (0..LINES).flat_map(|line| PARTS.map(|part| name(line, part))).collect();
    let names: Vec<_> = names.iter().map(String::as_str).chain([ORDER_NUMBER]).collect();
    let title = title(request);
    let body = html! {
        h1 { (title) }
        (problem_of(request, error, &names))
        p {
            (request.pick("Client:", "Client :")) " " (entered(&client.name)) " "
            a href=(request.link("/invoices/new")) { (request.pick("Choose another one", "En choisir un autre")) }
        }
        p { (request.pick(
            "This makes a draft, with a quote that counts as accepted. The draft is checked and issued on its own page.",
            "Un brouillon est créé, avec un devis considéré comme accepté. Il se vérifie et s’émet sur sa propre page.",
        )) }
        (request.form("/invoices", &html! {
            input type="hidden" name="client" value=(client.id) autocomplete="off";
            (order_number(request, "", error))
            @for line in 0..LINES { (fields(request, line, error)) }
            p.actions {
                button { (request.pick("Make the draft", "Créer le brouillon")) }
                a href=(request.link("/invoices")) { (request.pick("Cancel", "Annuler")) }
            }
        }))
    };
    PageContent::new(title, Chapter::Invoices, body)
}

fn fields(request: &PageRequest<'_>, line: usize, error: Option<&Error>) -> Markup {
    let has_vat = !request.record.identity.is_franchise();
    let rate = if has_vat { "20" } else { "0" };
    let inputs = [
        // No keyboard of figures, as phones show no minus on it, which a discount has.
        (InputKind::Text, "quantity", request.pick("Quantity", "Quantité"), "1"),
        (InputKind::Text, "unit", request.pick("Unit", "Unité"), ""),
        (InputKind::Number, "unitPrice", request.pick("Unit price excl. VAT", "Prix unitaire HT"), ""),
        (InputKind::Number, "tvaRate", request.pick("VAT rate in %", "Taux de TVA en %"), rate),
    ];
    let input = |kind, part, label, shown| {
        let name = name(line, part);
        let value = value(request, &name, shown);
        Input { kind, name: &name, label, value, hint: "" }.show(request, error)
    };
    html! {
        fieldset {
            legend { (request.pick("Line", "Ligne")) " " (line + 1) }
            (input(InputKind::Text, "description", request.pick("Description", "Désignation"), ""))
            div.fields { @for (kind, part, label, shown) in inputs { div { (input(kind, part, label, shown)) } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Language;

    fn form(lines: &[(usize, &str, &str)]) -> Form {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for line in 0..LINES {
            query.append_pair(&name(line, "quantity"), "1").append_pair(&name(line, "tvaRate"), "20");
        }
        for (line, description, price) in lines {
            query.append_pair(&name(*line, "description"), description);
            query.append_pair(&name(*line, "unitPrice"), price);
        }
        Form::query(&query.finish())
    }

    fn read(form: &Form) -> Result<Vec<NewLine>, Invalid> {
        lines(Figures::new(Language::French, "EUR"), form)
    }

    #[test]
    fn lines_that_are_left_out_at_the_end_are_none() {
        assert_eq!(read(&form(&[])), Ok(vec![]));
        let two = read(&form(&[(0, "Pose", "12,50"), (1, "Fourniture", "3")])).unwrap();
        assert_eq!(two.iter().map(|line| line.unit_price.to_string()).collect::<Vec<_>>(), ["12.5", "3"]);
    }

    #[test]
    fn an_error_names_the_line_by_its_place() {
        for (entered, field) in [
            (vec![(0, "Pose", "x")], "lines[0].unitPrice"),
            (vec![(0, "", "3")], "lines[0].description"),
            (vec![(1, "Pose", "3")], "lines[0].description"),
        ] {
            assert_eq!(read(&form(&entered)).unwrap_err().field, field);
        }
    }
}
