use bytes::Bytes;
use serde_json::Map;

use super::*;

/// Each recorded example of a successful answer, with a way to ask for it.
fn examples() -> Vec<(String, String, u16, Value)> {
    let document = checked_in();
    let mut examples = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let example = &response["content"]["application/json"]["example"];
                if !example.is_null() {
                    let path = path.replace("{id}", "x");
                    examples.push((method.to_uppercase(), path, status.parse().unwrap(), example.clone()));
                }
            }
        }
    }
    assert!(examples.len() >= 9, "{examples:?}");
    examples
}

fn answer(status: u16, json: Value) -> Answer {
    let mut headers = HeaderMap::new();
    headers.insert("x-request-id", "r1".parse().unwrap());
    headers.insert("cache-control", "no-store".parse().unwrap());
    Answer { status: StatusCode::from_u16(status).unwrap(), headers, bytes: Bytes::from_static(b"{}"), json }
}

/// Each version of a value in which one object, at any depth, is changed.
fn changed(value: &Value, change: &impl Fn(&Map<String, Value>) -> Vec<Map<String, Value>>) -> Vec<Value> {
    match value {
        Value::Object(members) => {
            let here = change(members).into_iter().map(Value::Object);
            let below = members.iter().flat_map(|(name, member)| {
                changed(member, change).into_iter().map(|member| {
                    let mut members = members.clone();
                    members.insert(name.clone(), member);
                    Value::Object(members)
                })
            });
            here.chain(below).collect()
        }
        Value::Array(items) => {
            let item = |(index, item)| {
                changed(item, change).into_iter().map(move |changed| (index, changed)).collect::<Vec<_>>()
            };
            let items_at = items.iter().enumerate().flat_map(item);
            items_at
                .map(|(index, changed)| {
                    let mut items = items.clone();
                    items[index] = changed;
                    Value::Array(items)
                })
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Each version with a member more.
fn added(example: &Value) -> Vec<Value> {
    let versions = changed(example, &|members| {
        let mut members = members.clone();
        members.insert("internalCost".to_owned(), 1.into());
        vec![members]
    });
    assert!(!versions.is_empty());
    versions
}

/// Each version with a member less.
fn dropped(example: &Value) -> Vec<Value> {
    let versions = changed(example, &|members| {
        let without = |name: &String| {
            members.iter().filter(|(n, _)| *n != name).map(|(n, v)| (n.clone(), v.clone())).collect()
        };
        members.keys().map(without).collect()
    });
    assert!(!versions.is_empty());
    versions
}

/// Rules: REFERENCE-5
#[test]
fn an_answer_with_a_property_more_or_less_anywhere_is_a_fault() {
    for (method, path, status, example) in examples() {
        check_answer(&method, &path, &answer(status, example.clone()));
        for wrong in added(&example).into_iter().chain(dropped(&example)) {
            let fault = DESCRIPTION.answer(&method, &path, &answer(status, wrong.clone()));
            assert!(fault.is_err(), "{method} {path} {status}: {wrong}");
        }
    }
}

/// Rules: REFERENCE-5
#[test]
fn a_delivery_with_a_property_more_or_less_is_a_fault() {
    let document = checked_in();
    for (event, webhook) in document["webhooks"].as_object().unwrap() {
        let mut headers = HeaderMap::new();
        for parameter in webhook["post"]["parameters"].as_array().unwrap() {
            let name: http::HeaderName = parameter["name"].as_str().unwrap().parse().unwrap();
            headers.insert(name, parameter["example"].as_str().unwrap().parse().unwrap());
        }
        let example = &webhook["post"]["requestBody"]["content"]["application/json"]["example"];
        check_delivery(&headers, example).unwrap();
        for version in added(example).into_iter().chain(dropped(example)) {
            let is_described = lacks_a_conditional_member(&version, example);
            assert_eq!(check_delivery(&headers, &version).is_ok(), is_described, "{event}: {version}");
        }
        for name in headers.keys() {
            let mut without = headers.clone();
            without.remove(name);
            assert!(check_delivery(&without, example).is_err(), "{event} without {name}");
        }
        headers.insert("x-service-attempt", "1".parse().unwrap());
        assert!(check_delivery(&headers, example).is_err(), "{event}: a header more");
    }
}

/// Members of a delivery's `data` that are left out if they do not apply.
const CONDITIONAL: [&str; 4] = ["signedAt", "acceptedAt", "signedByName", "signedByEmail"];

/// Whether a version of a delivery lacks one of them.
fn lacks_a_conditional_member(version: &Value, example: &Value) -> bool {
    let has = |event: &Value, name: &str| event["data"].get(name).is_some();
    version["data"].is_object() && CONDITIONAL.iter().any(|name| has(example, name) && !has(version, name))
}

/// Rules: REFERENCE-5
#[test]
fn an_answer_with_a_header_more_or_less_is_a_fault() {
    let path = "/api/v1/quotes/x";
    let body = json!({"error": {"code": "overloaded", "message": "m"}});
    let mut whole = answer(503, body);
    whole.headers.insert("retry-after", "1".parse().unwrap());
    check_answer("GET", path, &whole);
    for name in ["x-request-id", "cache-control", "retry-after"] {
        let mut less = Answer { headers: whole.headers.clone(), ..answer(503, whole.json.clone()) };
        less.headers.remove(name);
        let fault = DESCRIPTION.answer("GET", path, &less);
        assert!(fault.is_err_and(|fault| fault.ends_with("is missing")), "{name}");
    }
    whole.headers.insert("x-internal-node", "7".parse().unwrap());
    let fault = DESCRIPTION.answer("GET", path, &whole);
    assert_eq!(fault, Err("the header x-internal-node is not described".to_owned()));
}

#[test]
fn an_unknown_status_code_word_and_event_are_faults() {
    let error = |code: &str| json!({"error": {"code": code, "message": "m"}});
    check_error(StatusCode::CONFLICT, &error("conflict"));
    let fault = |status, code| DESCRIPTION.answer("GET", "/api/v1/quotes/x", &answer(status, error(code)));
    assert!(fault(404, "not_found").is_ok());
    assert!(fault(404, "gone").is_err());
    assert!(fault(404, "conflict").is_err(), "a code of another status");
    assert!(fault(418, "not_found").is_err());
    assert!(check_delivery(&HeaderMap::new(), &json!({"event": "quote.deleted"})).is_err());
}

/// Rules: REFERENCE-5
#[test]
fn an_answer_of_a_route_without_an_operation_is_a_fault() {
    for route in ROUTES {
        let mut document = checked_in();
        let item = document["paths"][route.path].as_object_mut().unwrap();
        item.remove(&route.method.as_str().to_ascii_lowercase()).unwrap();
        let description = Description::closed(document);
        let path = route.path.replace(['{', '}'], "");
        let error = json!({"error": {"code": "not_found", "message": "m"}});
        for (status, json) in [(200, Value::Null), (404, Value::Null), (404, error)] {
            let fault = description.answer(route.method.as_str(), &path, &answer(status, json));
            assert_eq!(fault, Err("the operation is not described".to_owned()), "{route:?} {status}");
        }
    }
}

#[test]
fn what_is_no_route_can_only_refuse() {
    let error = || json!({"error": {"code": "not_found", "message": "m"}});
    let fault = |method, path, status, json| DESCRIPTION.answer(method, path, &answer(status, json));
    assert!(fault("GET", "/api/v1/nothing", 404, error()).is_ok());
    assert!(fault("GET", "/api/v1/nothing", 404, Value::Null).is_err());
    assert!(fault("GET", "/api/v1/nothing", 200, json!({})).is_err());
    assert!(fault("HEAD", "/api/v1/nothing", 200, Value::Null).is_err());
    assert!(fault("get", "/api/v1/quotes", 200, Value::Null).is_err());
}
