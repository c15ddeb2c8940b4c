use std::time::Duration;

use mcp_listen::{
    clock::Millis,
    events::{
        Window,
        webhook::{DelivererOptions, RequestedTtl, TtlOptions},
    },
    json,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn a_requested_ttl_is_clamped_to_the_limits() {
    let options = TtlOptions::default();
    let span = |ttl| {
        options
            .until(ttl, Millis(1_000))
            .map(|until| until.0 - 1_000)
    };
    assert_eq!(span(RequestedTtl::Default), Some(3_600_000));
    assert_eq!(span(RequestedTtl::For(Millis(0))), Some(300_000));
    assert_eq!(span(RequestedTtl::For(Millis(400_000))), Some(400_000));
    assert_eq!(span(RequestedTtl::For(Millis(u64::MAX))), Some(86_400_000));
    assert_eq!(span(RequestedTtl::Endless), Some(86_400_000));
}

#[test]
fn a_server_may_offer_subscriptions_that_do_not_expire() {
    let options: TtlOptions = json::from_text("{\"noExpiry\":true}").unwrap();
    assert_eq!(options.until(RequestedTtl::Endless, Millis(0)), None);
    assert_eq!(
        options.until(RequestedTtl::Default, Millis(0)),
        Some(Millis(3_600_000))
    );
}

#[test]
fn options_are_read_in_milliseconds() {
    let text = r#"{"defaultTtlMs":1000,"minTtlMs":2000,"maxTtlMs":3000}"#;
    let text = format!(r#"{{"ttl":{text},"authorizationTtlMs":4000}}"#);
    let options = DelivererOptions::from_json(&text).unwrap();
    let TtlOptions {
        default_ttl,
        min_ttl,
        max_ttl,
        ..
    } = options.ttl;
    assert_eq!(
        [default_ttl, min_ttl, max_ttl].map(|ttl| ttl.as_secs()),
        [1, 2, 3]
    );
    assert_eq!(options.authorization_ttl, Some(Duration::from_secs(4)));
    let window: Window = json::from_text(r#"{"ageMs":5000}"#).unwrap();
    assert_eq!(window.age, Duration::from_secs(5));
}
