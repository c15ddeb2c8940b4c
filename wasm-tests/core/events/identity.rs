use mcp_listen::{
    events::{ArgumentsError, canonical_arguments, identity, subscription_id},
    json,
};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::check;

#[test]
fn arguments_are_a_canonical_object() {
    let canonical = |text| canonical_arguments(text).map(String::from);
    assert_eq!(
        canonical(" {\"b\":1.0,\"a\":[]} "),
        Ok("{\"a\":[],\"b\":1}".into())
    );
    assert_eq!(canonical("{}"), Ok("{}".into()));
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(32), "]".repeat(32));
    for text in [
        "",
        "[]",
        "null",
        "1",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1e999}",
        &deep,
    ] {
        assert_eq!(canonical(text), Err(ArgumentsError::Malformed), "{text}");
    }
}

#[test]
fn arguments_have_at_most_4096_bytes_in_canonical_form() {
    let text = |length: usize| format!("{{ \"a\" : \"{}\" }}", "x".repeat(length - 8));
    assert!(canonical_arguments(&text(4_096)).is_ok());
    assert_eq!(
        canonical_arguments(&text(4_097)),
        Err(ArgumentsError::TooLarge)
    );
}

#[test]
fn no_value_beyond_the_limit_is_read() {
    // Reading the last number would make the arguments malformed.
    let long = "x".repeat(4_096);
    for text in [
        format!("{{\"a\":\"{long}\",\"b\":1e999}}"),
        format!("{{\"a\":[\"{long}\",1e999]}}"),
        format!("{{\"a\":[[\"{long}\"],{{\"b\":1e999}}]}}"),
    ] {
        assert_eq!(canonical_arguments(&text), Err(ArgumentsError::TooLarge));
    }
}

#[test]
fn the_identity_is_canonical_json_of_the_four_parts() {
    let text = identity(
        "auth0|\"x\"",
        "https://a.example.com/?q=%7E",
        "order.paid",
        "{\"a\":1}",
    );
    let expected = r#"["auth0|\"x\"","https://a.example.com/?q=%7E","order.paid",{"a":1}]"#;
    assert_eq!(text, expected);
    let document = json::read(text.as_bytes(), 8).unwrap();
    assert_eq!(
        mcp_listen::events::canonical(&document.root),
        Some(text.clone())
    );
}

#[test]
fn different_parts_have_different_identities() {
    let part = ".{0,6}";
    check((part, part, part, part), |(principal, url, name, other)| {
        let of = |principal: &str, url: &str| identity(principal, url, &name, "{}");
        assert_eq!(of(&principal, &url) == of(&other, &url), principal == other);
        assert_eq!(of(&principal, &url) == of(&principal, &other), url == other);
    });
}

#[test]
fn an_id_is_the_begin_of_the_digest_in_hexadecimal() {
    let digest: Vec<u8> = (240..=255).chain(0..16).collect();
    let id = subscription_id(&digest).unwrap();
    assert_eq!(&*id, "sub_f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff");
    assert_eq!(subscription_id(&digest[..15]), None);
}
