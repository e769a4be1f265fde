use super::*;

#[test]
fn the_codes_of_the_contract_have_their_status() {
    let expected = [
        ("unauthorized", 401),
        ("plan_required", 403),
        ("validation_error", 400),
        ("bad_request", 400),
        ("not_found", 404),
        ("method_not_allowed", 405),
        ("conflict", 409),
        ("document_unavailable", 409),
        ("payload_too_large", 413),
        ("TOO_MANY_REQUESTS", 429),
        ("storage_unavailable", 503),
        ("server_error", 500),
    ];
    for (text, status) in expected {
        let code = ErrorCode::from(text);
        assert!(ErrorCode::KNOWN.contains(&code), "{text}");
        assert_eq!((code.as_str(), code.status()), (text, Some(status)));
    }
}

/// Rules: WIRE-26
#[test]
fn every_code_survives_json_also_one_that_is_not_known() {
    let unknown = ErrorCode::from("teapot");
    assert_eq!(unknown, ErrorCode::Other("teapot".into()));
    assert_eq!(unknown.status(), None);
    for code in ErrorCode::KNOWN.iter().chain([&unknown]) {
        let json = serde_json::to_string(code).unwrap();
        assert_eq!(json, format!("\"{code}\""));
        assert_eq!(&serde_json::from_str::<ErrorCode>(&json).unwrap(), code);
    }
}

/// Rules: ERROR-1, ERROR-2
#[test]
fn the_bodies_have_the_shapes_of_the_contract() {
    let error = ApiErrorDetail { code: ErrorCode::NotFound, message: "no such quote".into() };
    let json = serde_json::to_string(&ApiErrorBody { error }).unwrap();
    assert_eq!(json, r#"{"error":{"code":"not_found","message":"no such quote"}}"#);
    let flat = TooManyRequestsBody { code: ErrorCode::TooManyRequests, message: "slow down".into() };
    let json = serde_json::to_string(&flat).unwrap();
    assert_eq!(json, r#"{"code":"TOO_MANY_REQUESTS","message":"slow down"}"#);
    let grown = r#"{"error":{"code":"not_found","message":"m","docs":"https://…"},"requestId":"x"}"#;
    assert_eq!(serde_json::from_str::<ApiErrorBody>(grown).unwrap().error.code, ErrorCode::NotFound);
}

#[test]
fn a_refusal_says_what_its_cause_says() {
    let invalid = Invalid::of_host("lines[3].unitPrice", "must not be negative");
    assert_eq!(DomainError::from(invalid).to_string(), "lines[3].unitPrice: must not be negative");
    let conflict = DomainError::from(ConflictReason::ValidityEnded);
    assert_eq!(conflict.to_string(), "the quote's validity has ended");
}
