use mcp_listen::http::{Headers, Policy, PolicyError, Screening};
use proptest::prelude::*;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

#[test]
fn invalid_origins_and_hosts_are_refused() {
    for origin in [
        "null",
        "app.example",
        "https://",
        "https://app.example/",
        "**",
        "",
    ] {
        let error = Policy::new(&format!("*\n{origin}\n"), None).unwrap_err();
        assert_eq!(error, PolicyError::NotAnOrigin, "{origin}");
    }
    for host in [
        "https://mcp.example",
        "mcp.example/",
        "mcp.example:x",
        "*.example",
    ] {
        let error = Policy::new("", Some(host)).unwrap_err();
        assert_eq!(error, PolicyError::NotAHost, "{host}");
    }
}

/// Browsers send no `Origin` with the GET of an image or a link, but report its site.
#[test]
fn a_get_from_another_page_is_refused() {
    let passes = |origins: &str, method: &str, headers: &str| {
        let policy = Policy::new(origins, None).unwrap();
        let screening = policy.screen(method, "https://mcp.example/mcp", &Headers::new(headers));
        matches!(screening, Screening::Passed(_))
    };
    for site in ["same-origin", "none"] {
        assert!(
            passes("", "GET", &format!("Sec-Fetch-Site: {site}")),
            "{site}"
        );
    }
    for site in ["cross-site", "same-site", "", "Same-Origin"] {
        let headers = format!("Sec-Fetch-Site: {site}");
        assert!(!passes("", "GET", &headers), "{site}");
        assert!(!passes("https://app.example", "GET", &headers), "{site}");
        assert!(passes("*", "GET", &headers), "{site}");
        assert!(passes("", "POST", &headers), "{site}");
    }
    assert!(passes("", "GET", ""));
    let listed = "Origin: https://app.example\nSec-Fetch-Site: cross-site";
    assert!(passes("https://app.example", "GET", listed));
}

#[test]
fn any_request_gets_a_screening() {
    let policy = Policy::new("https://app.example", None).unwrap();
    check(
        ("\\PC{0,8}", "\\PC{0,30}", "\\PC{0,60}"),
        |(method, url, headers)| {
            drop(policy.screen(&method, &url, &Headers::new(&headers)));
            for name in ["Origin", "Host", "Access-Control-Request-Headers"] {
                let lines = format!(
                    "Origin: https://app.example\nAccess-Control-Request-Method: x\n{name}: {headers}"
                );
                drop(policy.screen("OPTIONS", "https://mcp.example/", &Headers::new(&lines)));
            }
        },
    );
}

/// A page of another origin is allowed only if the list contains its origin byte for byte.
#[test]
fn cors_headers_name_only_listed_origins() {
    let policy = Policy::new("https://app.example", None).unwrap();
    let origin = prop_oneof![
        Just("https://app.example".to_owned()),
        "https?://[a-c.:0-9\\[\\]]{0,6}",
        "[ -~]{0,20}",
    ];
    check(origin, |origin| {
        let lines = format!("Origin: {origin}");
        let screening = policy.screen("POST", "https://mcp.example/mcp", &Headers::new(&lines));
        let is_named = screening
            .fields()
            .iter()
            .any(|(name, value)| *name == "access-control-allow-origin" && *value == origin.trim());
        let is_listed = origin.eq_ignore_ascii_case("https://app.example");
        assert_eq!(is_named, is_listed, "{origin}");
        assert_eq!(
            matches!(screening, Screening::Passed(_)),
            is_listed,
            "{origin}"
        );
    });
}
