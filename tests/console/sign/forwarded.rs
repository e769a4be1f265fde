//! A link that was forwarded with a sign behind it.

use http::{Method, Request, StatusCode, header};
use invoicing_tests::{Database, World, on_each_database};

use super::super::{Browser, PREFIX};
use super::{client, sent};

/// Signs that mail programs, messengers and people put behind an address.
const BEHIND: [&str; 30] = [
    ".",
    ",",
    ";",
    ":",
    "!",
    ")",
    "%3E",
    "%22",
    "'",
    "%20",
    "/",
    "//",
    "*",
    "_",
    "-",
    "%5D",
    "%7D",
    "%60",
    "%C2%A0",
    "%C2%BB",
    "%E2%80%8B",
    "%E2%80%9D",
    "%EF%BB%BF",
    "%E3%85%A4",
    "%0D%0A",
    "%E2%80%A6",
    "%C2%A0%C2%BB.",
    ").",
    "%3E%2C",
    "&",
];
/// No such sign: a letter, a digit, a control of the address, a broken text.
const OTHER: [&str; 9] = ["x", "0", "=x", "%2", "%FF", "%2E%78", "/x", "/decline/x", "/document.pdfx"];
const PATHS: [&str; 3] = ["", "/decline", "/document.pdf"];

async fn ask(browser: &Browser, method: &Method, path: &str) -> (StatusCode, Option<String>) {
    let request = Request::builder().method(method).uri(path);
    let shown = browser.ask(request.body(String::new()).unwrap()).await;
    assert!(shown.headers[header::CACHE_CONTROL] == "no-store", "{path}");
    (shown.status, shown.headers.get(header::LOCATION).map(|to| to.to_str().unwrap().to_owned()))
}

/// Rules: SIGN-15
#[on_each_database]
async fn a_forwarded_link_leads_to_the_address_without_the_signs_behind_it(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let (_, known) = sent(&world).await;
    // The form decides alone, so that the answer is the same for links that do not exist. Letters
    // and signs at the end of a token belong to it.
    let unknown = [format!("/sign/sgn_{}", "A".repeat(43)), format!("/sign/sgn_{}-_", "a".repeat(41))];
    for page in unknown.into_iter().chain([known.clone()]) {
        for path in PATHS {
            for behind in BEHIND {
                for method in [Method::GET, Method::HEAD] {
                    let answer = ask(&browser, &method, &format!("{page}{path}{behind}")).await;
                    let clean = Some(format!("{PREFIX}{page}{path}"));
                    assert_eq!(answer, (StatusCode::SEE_OTHER, clean), "{method} {path} {behind}");
                }
            }
            for behind in OTHER {
                let answer = ask(&browser, &Method::GET, &format!("{page}{path}{behind}")).await;
                assert_eq!(answer, (StatusCode::NOT_FOUND, None), "{path} {behind}");
            }
        }
    }
    for path in PATHS {
        // A raw sign, as a careless program sends it, and a query that another one has added.
        let raw = Request::get(format!("{known}{path}\u{bb}?utm=x")).body(String::new()).unwrap();
        let shown = browser.ask(raw).await;
        assert_eq!(shown.location(), format!("{known}{path}"));
        assert_eq!(browser.get(shown.location()).await.status, StatusCode::OK);
    }
}

/// Rules: SIGN-15
#[on_each_database]
async fn nothing_else_is_cut_and_no_form_is_sent_on(db: Database) {
    let world = World::new(db).await;
    let browser = client(&world);
    let (_, page) = sent(&world).await;
    for path in [
        page[..page.len() - 1].to_owned() + ".",
        page.replace("sgn_", "xgn_") + ".",
        page.replace("sgn_", "sgn_%41") + ".",
        page.replace("/sign/", "/signs/") + ".",
        page.replace("/sign/", "//sign/") + ".",
        page.replace("/sign/", "/sign//") + ".",
        format!("{page}.//evil.example/"),
        format!("/x{page}."),
    ] {
        assert_eq!(ask(&browser, &Method::GET, &path).await, (StatusCode::NOT_FOUND, None), "{path}");
    }
    for path in [format!("{page}."), format!("{page}/decline."), format!("{page}/")] {
        let shown = browser.post(&path, &[("name", "Léa")]).await;
        assert_eq!(shown.status, StatusCode::NOT_FOUND, "{path}");
    }
}
