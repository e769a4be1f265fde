//! The page, parsed as a browser parses it.

mod html;
mod questions;

use std::collections::BTreeSet;

use invoicing_core::{Advice, FailureClass};
use serde_json::Value;

use self::html::{Element, Html};
use super::document::{Document, Operation, members};
use super::{STYLE, errors, events, headers, page, records};
use crate::api::openapi;
use crate::config::Settings;
use crate::snippets::LANGUAGES;

fn document() -> Value {
    openapi::compose(&Settings::default())
}

fn page() -> Html {
    Html::parse(&page::render(&document()))
}

#[test]
fn the_page_is_well_formed_and_has_no_script_and_no_style_but_its_own() {
    let html = page();
    assert_eq!(html.errors(), Vec::<String>::new());
    assert_eq!(html.all("script").len() + html.all("link").len() + html.all("img").len(), 0);
    for element in html.elements() {
        assert!(
            element.attributes().iter().all(|name| name != "style" && !name.starts_with("on")),
            "{element:?}"
        );
    }
    let styles = html.all("style");
    assert_eq!(styles.iter().map(Element::text).collect::<Vec<_>>(), [STYLE]);
}

#[test]
fn the_policy_names_the_style_and_allows_nothing_else() {
    let headers = headers();
    let policy = headers["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(!policy.contains("unsafe-"), "{policy}");
}

#[test]
fn ids_are_unique_and_every_link_leads_somewhere() {
    let html = page();
    let elements = html.elements();
    let ids: Vec<_> = elements.iter().filter_map(|it| it.attribute("id")).collect();
    let unique: BTreeSet<_> = ids.iter().cloned().collect();
    assert_eq!(ids.len(), unique.len(), "{:?}", repeated(&ids));
    for link in html.all("a") {
        let target = link.attribute("href").expect("a link has a target");
        match target.strip_prefix('#') {
            Some(id) => assert!(unique.contains(id), "{target}: {}", link.text()),
            None => assert!(target == "openapi.json" || target.starts_with("https://"), "{target}"),
        }
    }
    let labels = elements.iter().filter_map(|it| it.attribute("aria-labelledby"));
    labels.for_each(|id| assert!(unique.contains(&id), "{id}"));
}

fn repeated(ids: &[String]) -> Vec<&String> {
    ids.iter().enumerate().filter(|(at, id)| ids[..*at].contains(id)).map(|(_, id)| id).collect()
}

#[test]
fn a_screen_reader_finds_its_way() {
    let html = page();
    assert_eq!(html.all("html")[0].attribute("lang").as_deref(), Some("en"));
    for landmark in ["header", "nav", "main", "h1"] {
        assert_eq!(html.all(landmark).len(), 1, "{landmark}");
    }
    assert_eq!(html.all("nav")[0].attribute("aria-label").as_deref(), Some("Contents"));
    let main = html.all("main")[0].attribute("id").expect("the content has an id");
    assert_eq!(
        html.all("a")[0].attribute("href"),
        Some(format!("#{main}")),
        "the first link skips to the content"
    );
    assert!(html.all("table").iter().all(|table| !table.all("thead").is_empty()));
    assert!(html.all("th").iter().all(|cell| cell.attribute("scope").is_some()));
    assert!(html.all("fieldset").iter().all(|group| group.all("legend").len() == 1));
    // Code and tables can be scrolled by keyboard.
    assert!(html.all("pre").iter().all(|code| code.attribute("tabindex").as_deref() == Some("0")));
}

#[test]
fn heading_levels_do_not_skip() {
    let level = |element: &Element| match element.name().strip_prefix('h').map(str::parse::<u8>) {
        Some(Ok(level)) => Some((level, element.text())),
        _ => None,
    };
    let headings: Vec<_> = page().elements().iter().filter_map(level).collect();
    assert_eq!(headings[0].0, 1);
    for pair in headings.windows(2) {
        assert!(pair[1].0 <= pair[0].0 + 1, "{pair:?}");
    }
}

/// The names in a section that are set as code, in tables and elsewhere.
fn codes(section: &Element) -> BTreeSet<String> {
    section.all("code").iter().map(Element::text).collect()
}

fn assert_fields(document: &Document<'_>, schema: &Value, section: &Element) {
    let Some(name) = super::document::component_name(schema) else { return };
    let shown = codes(section);
    for (field, _) in document.fields(name) {
        assert!(shown.contains(field), "{name}.{field} is not in its section");
    }
}

/// Checks parameters and fields of an operation or event in its section.
fn assert_described(document: &Document<'_>, operation: &Operation<'_>, section: &Element) {
    let shown = codes(section);
    for parameter in operation.parameters(document) {
        let name = parameter["name"].as_str().unwrap();
        assert!(shown.contains(name), "{}: {name}", operation.path);
    }
    let answers = operation.answers(document);
    let bodies = answers.iter().filter(|answer| !answer.is_error()).map(|answer| answer.value);
    for schema in bodies.chain(operation.body()).filter_map(super::document::schema_of) {
        assert_fields(document, schema, section);
    }
    let text = section.text();
    for answer in &answers {
        assert!(text.contains(answer.status), "{}: {}", operation.path, answer.status);
        answer.codes().for_each(|(code, _)| assert!(shown.contains(code), "{}: {code}", operation.path));
    }
}

/// Rules: REFERENCE-7
#[test]
fn every_operation_parameter_field_and_answer_has_its_place() {
    let (value, html) = (document(), page());
    let document = Document::new(&value);
    let mut count = 0;
    for operation in document.operations() {
        let section = html.section(operation.id());
        assert!(section.text().contains(operation.path), "{}", operation.path);
        assert_described(&document, &operation, &section);
        count += 1;
    }
    assert_eq!(count, crate::ROUTES.len());
}

#[test]
fn every_event_has_its_payload_and_a_delivery_that_verifies() {
    let (value, html) = (document(), page());
    let document = Document::new(&value);
    for event in document.events() {
        let section = html.section(&events::id(event.path));
        assert_described(&document, &event, &section);
        let delivery = section.all("pre").iter().map(Element::text).find(|text| text.starts_with("POST "));
        let delivery = delivery.unwrap_or_else(|| panic!("{} has no delivery", event.path));
        let (head, body) = delivery.split_once("\n\n").expect("a head and a body");
        let signature = head.lines().find_map(|line| line.strip_prefix("X-Service-Signature: ")).unwrap();
        let sent_at = signature.split([',', '=']).nth(1).unwrap().parse().unwrap();
        let secret =
            codes(&section).into_iter().find(|code| code.starts_with("whsec_0")).expect("the secret");
        let verifier = webhook_verify::Verifier::new(&*secret).unwrap();
        assert!(verifier.verify(signature, body.as_bytes(), sent_at).is_ok(), "{}", event.path);
        assert_eq!(serde_json::from_str::<Value>(body).unwrap()["event"], event.path);
    }
    assert_eq!(document.events().count(), invoicing_core::EventKind::ALL.len() + 1, "and the ping");
}

/// Rules: REFERENCE-7
#[test]
fn every_record_word_error_and_header_has_its_place() {
    let (value, html) = (document(), page());
    let document = Document::new(&value);
    for (name, schema) in document.nested_schemas() {
        let section = html.section(&records::id(name));
        for (field, _) in document.fields(name) {
            assert!(codes(&section).contains(field), "{name}.{field}");
        }
        for (word, _) in members(&schema["anyOf"][0]["x-enumDescriptions"]) {
            assert!(codes(&section).contains(word), "{name}: {word}");
        }
    }
    let shown: BTreeSet<_> = errors::all(&document).iter().map(|error| error.code).collect();
    for error in &shown {
        assert!(html.section("errors").text().contains(error), "{error}");
        assert!(html.by_id(&errors::id(error)).is_some(), "{error}");
    }
    for response in document.components("responses").map(|(_, response)| response) {
        for (name, _) in members(&response["headers"]) {
            assert!(codes(&html.section("headers")).contains(name), "{name}");
        }
    }
}

/// Rules: REFERENCE-7
#[test]
fn every_operation_has_a_request_in_every_language() {
    let value = document();
    for operation in Document::new(&value).operations() {
        // A request for this page is only a URL, so it has no code in other languages.
        let languages = if operation.has_tag("Reference") { &LANGUAGES[..1] } else { &LANGUAGES[..] };
        for language in languages {
            let code = language.request(operation.id()).unwrap_or_default();
            assert!(!code.trim().is_empty(), "{} in {}", operation.id(), language.name);
        }
    }
}

#[test]
fn a_host_s_brand_and_limits_are_on_its_page() {
    let settings = Settings { brand: "Acme".into(), quota: 77, ..Settings::default() };
    let html = page::render(&openapi::compose(&settings));
    assert!(html.contains("X-Acme-Signature") && html.contains("77 in any 60 s"));
    assert!(!html.contains("X-Service-") && !html.contains("{{"));
}

/// Rules: LOG-4
#[test]
fn each_failure_of_a_delivery_stands_there_with_what_to_do() {
    let text = page().section("answering").text();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let section = words(&text);
    let statuses = Advice::STATUSES.iter().filter_map(|status| Advice::on_status(*status));
    for advice in statuses.chain(FailureClass::ALL.iter().map(|class| class.advice())) {
        assert!(section.contains(&words(advice.english)), "{}", advice.english);
    }
}
