use mcp_listen::{
    clock::Millis,
    events::webhook::{RequestedTtl, Terms},
    json,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn requested(text: &str) -> Option<RequestedTtl> {
    let document = json::read(text.as_bytes(), 2).unwrap();
    RequestedTtl::from_node(document.root.get("ttlMs"))
}

#[test]
fn a_wish_is_absent_or_null_or_a_number() {
    assert_eq!(requested("{}"), Some(RequestedTtl::Default));
    assert_eq!(requested("{\"ttlMs\":null}"), Some(RequestedTtl::Endless));
    for (number, millis) in [
        ("60000", 60_000),
        ("1.5", 1),
        ("-5", 0),
        ("1e300", (1 << 53) - 1),
    ] {
        let text = format!("{{\"ttlMs\":{number}}}");
        assert_eq!(
            requested(&text),
            Some(RequestedTtl::For(Millis(millis))),
            "{number}"
        );
    }
    assert_eq!(requested("{\"ttlMs\":\"60000\"}"), None);
}

#[test]
fn every_wish_is_granted_within_the_terms() {
    let terms = Terms::default();
    let span = |ttl| terms.until(ttl, Millis(1_000)).map(|until| until.0 - 1_000);
    assert_eq!(span(RequestedTtl::Default), Some(3_600_000));
    assert_eq!(span(RequestedTtl::For(Millis(0))), Some(300_000));
    assert_eq!(span(RequestedTtl::For(Millis(400_000))), Some(400_000));
    assert_eq!(span(RequestedTtl::For(Millis(u64::MAX))), Some(86_400_000));
    assert_eq!(span(RequestedTtl::Endless), Some(86_400_000));
}

#[test]
fn a_server_may_grant_subscriptions_without_an_end() {
    let terms: Terms = json::from_text("{\"noExpiry\":true}").unwrap();
    assert_eq!(terms.until(RequestedTtl::Endless, Millis(0)), None);
    assert_eq!(
        terms.until(RequestedTtl::Default, Millis(0)),
        Some(Millis(3_600_000))
    );
}
