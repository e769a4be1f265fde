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

/// Rules: REFERENCE-5
#[test]
fn an_answer_with_a_property_more_or_less_anywhere_is_a_fault() {
    for (method, path, status, example) in examples() {
        check_answer(&method, &path, &answer(status, example.clone()));
        let added = changed(&example, &|members| {
            let mut members = members.clone();
            members.insert("internalCost".to_owned(), 1.into());
            vec![members]
        });
        let dropped = changed(&example, &|members| {
            let without = |name: &String| {
                members.iter().filter(|(n, _)| *n != name).map(|(n, v)| (n.clone(), v.clone())).collect()
            };
            members.keys().map(without).collect()
        });
        assert!(!added.is_empty() && !dropped.is_empty());
        for wrong in added.into_iter().chain(dropped) {
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
        let mut added = example.clone();
        added["data"]["lines"] = json!([]);
        assert!(check_delivery(&headers, &added).is_err(), "{event}");
        let mut dropped = example.clone();
        dropped["data"].as_object_mut().unwrap().remove("id");
        assert!(check_delivery(&headers, &dropped).is_err(), "{event}");
        headers.remove("x-service-event-id");
        assert!(check_delivery(&headers, example).is_err(), "{event}");
    }
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
