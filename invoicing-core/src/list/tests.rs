use super::*;
use crate::fixtures::at;

/// Rules: LIST-1
#[test]
fn the_envelope_has_the_shape_of_the_contract() {
    let pagination = Pagination { limit: 50, offset: 0, has_more: true };
    let page = Page { data: vec![1, 2], pagination, as_of: at(123) };
    let json = serde_json::to_string(&page).unwrap();
    let expected = r#"{"data":[1,2],"pagination":{"limit":50,"offset":0,"hasMore":true},"asOf":"2026-09-14T09:41:07.123Z"}"#;
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<Page<i32>>(&json).unwrap(), page);
}

/// Rules: WIRE-26
#[test]
fn a_reader_ignores_what_it_does_not_know() {
    let grown = r#"{"total":9,"data":[],"pagination":{"limit":1,"offset":2,"hasMore":false,"next":"x"},
        "asOf":"2026-09-14T09:41:07.123Z"}"#;
    let page: Page<i32> = serde_json::from_str(grown).unwrap();
    assert_eq!(page.pagination, Pagination { limit: 1, offset: 2, has_more: false });
}
