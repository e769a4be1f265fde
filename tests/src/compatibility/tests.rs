use super::*;

fn read(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// The entries of `openapi.allowed.json`, each of which needs a reason.
fn allowed() -> Vec<String> {
    let entries = read("openapi.allowed.json");
    let change = |entry: &Value| {
        assert!(text(&entry["reason"]).len() > 10, "{entry} needs a reason");
        text(&entry["change"]).to_owned()
    };
    items(&entries).map(change).collect()
}

/// Rules: REFERENCE-6
#[test]
fn nothing_that_was_released_has_changed_but_what_is_allowed() {
    let changes = breaking_changes(&read("openapi.released.json"), &read("openapi.json"));
    assert_eq!(
        changes,
        allowed(),
        "each breaking change needs an entry in openapi.allowed.json, and each entry a change"
    );
}

/// The changes that follow from one edit of the current document.
fn changes_of(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let released = read("openapi.json");
    let mut current = released.clone();
    edit(&mut current);
    assert_ne!(current, released, "nothing was edited");
    breaking_changes(&released, &current)
}

#[track_caller]
fn breaks(expected: &str, edit: impl FnOnce(&mut Value)) {
    let changes = changes_of(edit);
    assert!(changes.iter().any(|change| change == expected), "{expected} is not among {changes:?}");
}

#[track_caller]
fn is_fine(edit: impl FnOnce(&mut Value)) {
    assert_eq!(changes_of(edit), [""; 0]);
}

/// A query parameter of the list of quotes.
fn parameter<'d>(document: &'d mut Value, name: &str) -> &'d mut Value {
    let parameters = document["paths"]["/api/v1/quotes"]["get"]["parameters"].as_array_mut().unwrap();
    parameters.iter_mut().find(|parameter| parameter["name"] == name).unwrap()
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().remove(name).unwrap();
}

fn schema<'d>(document: &'d mut Value, name: &str) -> &'d mut Value {
    &mut document["components"]["schemas"][name]
}

#[test]
fn what_is_removed_breaks() {
    breaks("GET /api/v1/quotes/{id}: removed", |d| remove(&mut d["paths"]["/api/v1/quotes/{id}"], "get"));
    breaks("POST quote.signed: removed", |d| remove(&mut d["webhooks"], "quote.signed"));
    breaks("GET /api/v1/clients 200.data[].city: removed", |d| {
        remove(&mut schema(d, "Client")["properties"], "city");
    });
    breaks("POST quote.created body.data.totalTTC: removed", |d| {
        remove(&mut schema(d, "QuoteEventData")["properties"], "totalTTC");
    });
    breaks("GET /api/v1/clients q: removed", |d| {
        let parameters = d["paths"]["/api/v1/clients"]["get"]["parameters"].as_array_mut().unwrap();
        parameters.retain(|parameter| parameter["name"] != "q");
    });
    breaks("POST /api/v1/clients 201: removed", |d| {
        remove(&mut d["paths"]["/api/v1/clients"]["post"]["responses"], "201");
    });
    breaks("GET /api/v1/quotes 200 RateLimit-Limit: removed", |d| {
        remove(&mut d["paths"]["/api/v1/quotes"]["get"]["responses"]["200"]["headers"], "RateLimit-Limit");
    });
    breaks("GET /api/v1/quotes: operationId changed", |d| {
        d["paths"]["/api/v1/quotes"]["get"]["operationId"] = "quotes".into();
    });
}

#[test]
fn what_callers_send_may_not_be_narrowed() {
    breaks("POST /api/v1/clients body.siret: newly required", |d| {
        schema(d, "NewClient")["properties"]["siret"] = json!({"type": "string"});
        schema(d, "NewClient")["required"] = json!(["name", "siret"]);
    });
    breaks("POST /api/v1/clients body.email: newly required", |d| {
        schema(d, "NewClient")["required"] = json!(["name", "email"]);
    });
    breaks("POST /api/v1/clients body.email: type changed", |d| {
        schema(d, "NewClient")["properties"]["email"]["type"] = "string".into();
    });
    breaks("POST /api/v1/clients body.name: maxLength changed", |d| {
        schema(d, "NewClient")["properties"]["name"]["maxLength"] = 100.into();
    });
    breaks("POST /api/v1/clients body.type: words changed", |d| {
        schema(d, "NewClientType")["enum"] = json!(["PARTICULIER", "", null]);
    });
    breaks("GET /api/v1/quotes limit: maximum changed", |d| {
        parameter(d, "limit")["schema"]["maximum"] = 50.into();
    });
    breaks("GET /api/v1/quotes limit: default changed", |d| {
        parameter(d, "limit")["schema"]["default"] = 10.into();
    });
    breaks("POST /api/v1/clients body: allOf changed", |d| {
        schema(d, "NewClient")["allOf"] = json!([{"required": ["email"]}]);
    });
    breaks("POST /api/v1/clients body.phone: contentEncoding changed", |d| {
        schema(d, "NewClient")["properties"]["phone"]["contentEncoding"] = "base64".into();
    });
    breaks("GET /api/v1/quotes tenant: newly required", |d| {
        let parameters = d["paths"]["/api/v1/quotes"]["get"]["parameters"].as_array_mut().unwrap();
        parameters
            .push(json!({"name": "tenant", "in": "query", "required": true, "schema": {"type": "string"}}));
    });
}

#[test]
fn what_callers_read_may_not_be_widened() {
    breaks("GET /api/v1/quotes/{id} 200.number: type changed", |d| {
        schema(d, "Quote")["properties"]["number"]["type"] = json!(["string", "null"]);
    });
    breaks("GET /api/v1/quotes/{id} 200.number: newly optional", |d| {
        schema(d, "Quote")["required"].as_array_mut().unwrap().retain(|name| name != "number");
    });
    breaks("GET /api/v1/quotes/{id} 200.validUntil: format changed", |d| {
        schema(d, "Quote")["properties"]["validUntil"]["format"] = "date-time".into();
    });
    breaks("POST ping body.event: words changed", |d| {
        schema(d, "PingEvent")["properties"]["event"]["const"] = "test".into();
    });
    breaks("POST invoice.paid body.data.paidAt: newly optional", |d| {
        schema(d, "InvoicePaidData")["required"].as_array_mut().unwrap().retain(|name| name != "paidAt");
    });
}

#[test]
fn what_callers_read_keeps_its_choices_and_limits() {
    breaks("GET /api/v1/quotes/{id} 200.signature: oneOf changed", |d| {
        schema(d, "Quote")["properties"]["signature"] = json!({"type": "string"});
    });
    breaks("GET /api/v1/quotes/{id} 200.status: anyOf changed", |d| {
        *schema(d, "QuoteStatus") = json!({"type": "integer"});
    });
    breaks("GET /api/v1/quotes/{id} 200.status: type changed", |d| {
        schema(d, "QuoteStatus")["anyOf"][0]["type"] = "integer".into();
    });
    breaks("GET /api/v1/quotes/{id} 200.status: DRAFT removed", |d| {
        schema(d, "QuoteStatus")["anyOf"][0]["enum"].as_array_mut().unwrap().retain(|word| word != "DRAFT");
    });
    breaks("POST quote.signed X-Service-Signature: pattern changed", |d| {
        let parameters = &mut d["webhooks"]["quote.signed"]["post"]["parameters"];
        let signature = parameters.as_array_mut().unwrap().iter_mut();
        for header in signature.filter(|header| header["name"] == "X-Service-Signature") {
            header["schema"]["pattern"] = "^v2=[0-9a-f]{64}$".into();
        }
    });
    breaks("GET /api/v1/quotes/{id}/document 200.sha256: pattern changed", |d| {
        remove(&mut schema(d, "DocumentLink")["properties"]["sha256"], "pattern");
    });
    breaks("GET /api/v1/quotes 200.data: maxItems changed", |d| {
        schema(d, "QuotePage")["properties"]["data"]["maxItems"] = 1_000.into();
    });
    breaks("GET /api/v1/quotes 200 RateLimit-Limit: minimum changed", |d| {
        d["components"]["headers"]["RateLimit-Limit"]["schema"]["minimum"] = 0.into();
    });
}

/// The description after a code was renamed wherever it is said.
fn renamed(document: &mut Value, code: &str, name: &str) {
    *document =
        serde_json::from_str(&document.to_string().replace(&format!("\"{code}\""), &format!("\"{name}\"")))
            .unwrap();
}

#[test]
fn statuses_and_codes_of_errors_are_kept() {
    let document = "GET /api/v1/quotes/{id}/document 409";
    breaks(&format!("{document}: document_unavailable removed"), |d| {
        renamed(d, "document_unavailable", "no_document");
    });
    breaks(&format!("{document}.error.code: document_unavailable removed"), |d| {
        renamed(d, "document_unavailable", "no_document");
    });
    for (path, status) in [
        ("/api/v1/quotes", "429"),
        ("/api/v1/openapi.json", "304"),
        ("/api/v1/documents/{company}/{upload}", "416"),
    ] {
        breaks(&format!("GET {path} {status}: removed"), |d| {
            remove(&mut d["paths"][path]["get"]["responses"], status);
        });
    }
    breaks("POST ping 5XX: removed", |d| remove(&mut d["webhooks"]["ping"]["post"]["responses"], "5XX"));
}

#[test]
fn growth_is_fine() {
    is_fine(|d| schema(d, "Quote")["properties"]["margin"] = json!({"type": "number"}));
    is_fine(|d| d["paths"]["/api/v1/projects"] = json!({"get": {}}));
    is_fine(|d| d["webhooks"]["quote.rejected"] = json!({"post": {}}));
    is_fine(|d| schema(d, "NewClient")["properties"]["siret"] = json!({"type": "string"}));
    is_fine(|d| {
        schema(d, "QuoteStatus")["anyOf"][0]["enum"].as_array_mut().unwrap().push("ARCHIVED".into());
    });
    is_fine(|d| schema(d, "NewClient")["properties"]["name"]["maxLength"] = 500.into());
    is_fine(|d| schema(d, "ErrorCode")["anyOf"][0]["enum"].as_array_mut().unwrap().push("gone".into()));
    is_fine(|d| schema(d, "QuotePage")["properties"]["data"]["maxItems"] = 50.into());
    is_fine(|d| parameter(d, "limit")["schema"]["maximum"] = 1_000.into());
    is_fine(|d| d["paths"]["/api/v1/quotes"]["get"]["responses"]["410"] = json!({"description": "Gone."}));
    is_fine(|d| d["info"]["description"] = "reworded".into());
}
