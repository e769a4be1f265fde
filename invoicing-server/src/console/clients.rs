//! The company's clients: searched, entered and changed.

use invoicing_core::internal::SHORT_TEXT;
use invoicing_core::{BillingAddress, Client, ClientId, ClientType, Invalid, NewClient};
use maud::{Markup, html};

use super::ConsoleAction;
use super::error::PageError;
use super::form::Form;
use super::inputs::{Choice, Input, InputKind, problem_of, value};
use super::layout::{Chapter, PageContent, entered};
use super::request::{Outcome, PageRequest};
use super::text_fields::{TextField, fieldset, saved};
use crate::error::Error;
use crate::list_query::{ClientQuery, PageWindow};

/// Maximum number of clients that a search shows.
const CLIENTS: u32 = 20;

type Field = TextField<NewClient>;

const CONTACT: [Field; 2] = [
    Field::new("email", ("E-mail", "E-mail"), |client| &mut client.email),
    Field::new("phone", ("Telephone", "Téléphone"), |client| &mut client.phone),
];
const ADDRESS: [Field; 4] = [
    Field::new("address", ("Street address", "Adresse"), |client| &mut client.address).long(),
    Field::new("zipCode", ("Postal code", "Code postal"), |client| &mut client.zip_code),
    Field::new("city", ("Town", "Ville"), |client| &mut client.city),
    Field::new("country", ("Country", "Pays"), |client| &mut client.country).hint(COUNTRY.0, COUNTRY.1),
];
/// Left empty, the client has none: an address without any text is null.
const BILLING: [Field; 4] = [
    Field::new("billingAddress.address", ("Street address", "Adresse"), |client| {
        &mut billing_address(client).address
    })
    .long(),
    Field::new("billingAddress.zipCode", ("Postal code", "Code postal"), |client| {
        &mut billing_address(client).zip_code
    }),
    Field::new("billingAddress.city", ("Town", "Ville"), |client| &mut billing_address(client).city),
    Field::new("billingAddress.country", ("Country", "Pays"), |client| &mut billing_address(client).country)
        .hint(COUNTRY.0, COUNTRY.1),
];
const COUNTRY: (&str, &str) =
    ("Two letters, such as “BE”; empty for France", "Deux lettres, comme « BE » ; vide pour la France");
const NUMBERS: [Field; 3] = [
    Field::new("siren", ("SIREN", "SIREN"), |client| &mut client.siren)
        .hint("9 digits, of a business", "9 chiffres, pour un professionnel"),
    Field::new("vatNumber", ("VAT number", "Numéro de TVA"), |client| &mut client.vat_number),
    Field::new("electronicAddress", ("Electronic address", "Adresse électronique"), |client| {
        &mut client.electronic_address
    })
    .hint("By default the SIREN", "Par défaut le SIREN"),
];
const OTHERS: [Field; 2] = [
    Field::new("externalId", ("Number in another system", "Numéro dans un autre système"), |client| {
        &mut client.external_id
    }),
    Field::new("notes", ("Notes", "Notes"), |client| &mut client.notes)
        .long()
        .hint("Programs with an API key can read them", "Lisibles par les programmes qui ont une clé d’API"),
];
const NAME: &str = "name";
const TYPE: &str = "type";

fn fields() -> impl Iterator<Item = &'static Field> {
    CONTACT.iter().chain(&ADDRESS).chain(&BILLING).chain(&NUMBERS).chain(&OTHERS)
}

fn billing_address(client: &mut NewClient) -> &mut BillingAddress {
    client.billing_address.get_or_insert_default()
}

/// `GET /clients`. `q`: part of the name, the e-mail or the town.
pub(super) async fn list(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    let title = request.pick("Clients", "Clients");
    let found = search(request, "/clients", |id| format!("/clients/{id}")).await?;
    let body = html! {
        h1 { (title) }
        @if request.allows(ConsoleAction::ManageClients) {
            p.actions {
                a.button.plain href=(request.link("/clients/new")) { (request.pick("New client", "Nouveau client")) }
            }
        }
        (found)
    };
    Ok(PageContent::new(title, Chapter::Clients, body))
}

/// The clients that a text finds, each as a link. `path`: that of the page.
pub(super) async fn search(
    request: &PageRequest<'_>,
    path: &str,
    target: impl Fn(ClientId) -> String,
) -> Result<Markup, PageError> {
    let q = request.form.given("q").map(str::to_owned);
    let query = ClientQuery { q, window: PageWindow::default().limit(CLIENTS), ..ClientQuery::default() };
    let found = request.company.clients().list(&query).await?;
    Ok(html! {
        form.filter method="get" action=(request.link(path)) role="search" {
            div {
                label for="q" { (request.pick("Client", "Client")) }
                input #q name="q" type="search" maxlength=(SHORT_TEXT) value=(query.q.as_deref().unwrap_or_default())
                    aria-describedby="q-hint";
                p.hint #q-hint { (request.pick("Part of the name, the e-mail or the town", "Partie du nom, de l’e-mail ou de la ville")) }
            }
            p.actions { button { (request.pick("Search", "Rechercher")) } }
        }
        @if found.data.is_empty() {
            p { (request.pick("No client matches.", "Aucun client ne correspond.")) }
        } @else {
            ul.steps {
                @for client in &found.data {
                    li {
                        a href=(request.link(target(client.id))) { (entered(&client.name)) }
                        @for part in [&client.email, &client.city].into_iter().flatten() { " " span.soft { (entered(part)) } }
                    }
                }
            }
        }
        @if found.pagination.has_more {
            p.soft { (request.pick("There are more. Narrow the search.", "Il y en a d’autres. Affinez la recherche.")) }
        }
    })
}

/// `GET /clients/new`.
pub(super) fn new(request: &PageRequest<'_>) -> PageContent {
    creation(request, None)
}

/// `POST /clients`: the fields of [`NewClient`].
pub(super) async fn make(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let made = match read(&request.form) {
        Ok(new) => request.company.clients().create(&new).await,
        Err(invalid) => Err(invalid.into()),
    };
    match made {
        Ok(client) => Ok(Outcome::See(format!("/clients/{}?done=saved", client.id))),
        Err(error) => Outcome::refused(error, |error| creation(request, Some(error))),
    }
}

/// `GET /clients/{id}`.
pub(super) async fn show(request: &PageRequest<'_>) -> Result<PageContent, PageError> {
    Ok(page(request, &find(request).await?, None))
}

/// `POST /clients/{id}`: the fields of [`NewClient`].
pub(super) async fn change(request: &PageRequest<'_>) -> Result<Outcome, PageError> {
    let client = find(request).await?;
    let changed = match read(&request.form) {
        Ok(change) => request.company.clients().change(client.id, &change).await,
        Err(invalid) => Err(invalid.into()),
    };
    match changed {
        Ok(client) => Ok(Outcome::See(format!("/clients/{}?done=saved", client.id))),
        Err(error) => Outcome::refused(error, |error| page(request, &client, Some(error))),
    }
}

async fn find(request: &PageRequest<'_>) -> Result<Client, PageError> {
    let id: ClientId = request.id()?;
    Ok(request.company.clients().get(id).await?)
}

fn read(form: &Form) -> Result<NewClient, Invalid> {
    let mut client = NewClient::named(form.text(NAME));
    for field in fields() {
        field.read(form, &mut client);
    }
    let named = |invalid: Invalid| invalid.in_field(TYPE);
    client.r#type = form.given(TYPE).map(|kind| kind.parse().map_err(named)).transpose()?;
    Ok(client)
}

fn creation(request: &PageRequest<'_>, error: Option<&Error>) -> PageContent {
    let title = request.pick("New client", "Nouveau client");
    let fields = html! {
        (inputs(request, &mut NewClient::named(""), error))
        p.actions {
            button { (request.pick("Save the client", "Enregistrer le client")) }
            a href=(request.link("/clients")) { (request.pick("Cancel", "Annuler")) }
        }
    };
    content(request, title, error, &request.form("/clients", &fields))
}

fn page(request: &PageRequest<'_>, client: &Client, error: Option<&Error>) -> PageContent {
    let path = format!("/clients/{}", client.id);
    let fields = html! {
        (inputs(request, &mut NewClient::of(client), error))
        p.actions { button { (request.pick("Save", "Enregistrer")) } }
    };
    let body = html! {
        @if request.allows(ConsoleAction::ManageClients) {
            p.hint { (request.pick(
                "Documents that are frozen stay as they are. A quote keeps the name and the e-mail with which it was made.",
                "Les documents figés restent inchangés. Un devis garde le nom et l’e-mail avec lesquels il a été fait.",
            )) }
            (request.form_about(path, client.updated_at, &fields))
        } @else {
            (facts(request, client))
        }
    };
    content(request, &client.name, error, &body)
}

fn content(request: &PageRequest<'_>, title: &str, error: Option<&Error>, body: &Markup) -> PageContent {
    let names: Vec<_> = [NAME, TYPE].into_iter().chain(fields().map(|field| field.name)).collect();
    let body = html! {
        h1 { (entered(title)) }
        (saved(request))
        (problem_of(request, error, &names))
        (body)
    };
    PageContent::new(title, Chapter::Clients, body)
}

/// The client for those who may not change it.
fn facts(request: &PageRequest<'_>, client: &Client) -> Markup {
    let billing = client.billing_address.as_ref();
    let facts = [
        (request.pick("E-mail", "E-mail"), client.email.clone()),
        (request.pick("Telephone", "Téléphone"), client.phone.clone()),
        (request.pick("Address", "Adresse"), client.postal_address()),
        (
            request.pick("Billing address", "Adresse de facturation"),
            billing.and_then(BillingAddress::postal_address),
        ),
        ("SIREN", client.siren.clone()),
        (request.pick("VAT number", "Numéro de TVA"), client.vat_number.clone()),
    ];
    html! {
        dl.facts {
            @for (name, text) in facts {
                @if let Some(text) = text { div { dt { (name) } dd { (entered(&text)) } } }
            }
        }
    }
}

fn inputs(request: &PageRequest<'_>, client: &mut NewClient, error: Option<&Error>) -> Markup {
    let name = Input {
        kind: InputKind::Text,
        name: NAME,
        label: request.pick("Name", "Nom"),
        value: value(request, NAME, &client.name),
        hint: "",
    }
    .show(request, error);
    let kinds = [
        ("", request.pick("not stated", "non précisé")),
        (ClientType::Particulier.into(), request.pick("Private person", "Particulier")),
        (ClientType::Professionnel.into(), request.pick("Business", "Professionnel")),
    ];
    let stored = client.r#type.map_or("", Into::into);
    let kind = Choice {
        name: TYPE,
        label: request.pick("Kind", "Type"),
        options: &kinds,
        chosen: value(request, TYPE, stored),
    }
    .show(request, error);
    let mut group = |legend: &str, fields: &[Field]| fieldset(request, legend, fields, client, error);
    html! {
        div.fields { div { (name) } div { (kind) } }
        (group(request.pick("Contact", "Contact"), &CONTACT))
        (group(request.pick("Address", "Adresse"), &ADDRESS))
        (group(
            request.pick("Billing address, if it is another one", "Adresse de facturation, si elle est différente"),
            &BILLING,
        ))
        (group(request.pick("Of a business", "D’un professionnel"), &NUMBERS))
        (group(request.pick("Other", "Autre"), &OTHERS))
    }
}
