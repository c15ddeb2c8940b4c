use mcp_listen::events::webhook::signature::{header, signed_text};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

#[test]
fn id_timestamp_and_body_are_signed() {
    assert_eq!(
        signed_text("evt_1", 1_614_265_330, "{\"a\":1}"),
        "evt_1.1614265330.{\"a\":1}"
    );
}

#[test]
fn each_secret_gives_a_signature() {
    assert_eq!(header(&[[0_u8; 3]]), "v1,AAAA");
    assert_eq!(header(&[vec![0, 1, 2], vec![255]]), "v1,AAEC v1,/w==");
}
