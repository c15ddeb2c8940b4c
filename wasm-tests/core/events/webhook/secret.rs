use mcp_listen::events::webhook::Secret;
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn a_secret_is_the_base64_of_24_to_64_bytes() {
    let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    assert_eq!(secret.key().len(), 24);
    assert_eq!(secret.key()[..3], [0x31, 0xf2, 0x90]);
    let of = |text: &str| Secret::new(text).map(|secret| secret.key().len());
    assert_eq!(of(&format!("whsec_{}Ag==", "AAEC".repeat(21))), Some(64));
    assert_eq!(of(&format!("whsec_{}AAECAw==", "AAEC".repeat(21))), None);
    assert_eq!(of(&format!("whsec_{}AAE=", "AAEC".repeat(7))), None);
}

#[test]
fn other_texts_are_no_secrets() {
    for text in [
        "",
        "whsec_",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS-",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw ",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAA",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw=",
    ] {
        assert_eq!(Secret::new(text), None, "{text}");
    }
}

#[test]
fn the_key_of_a_secret_is_not_shown() {
    let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    assert_eq!(format!("{secret:?}"), "Secret");
}
