//! The signature of a message (Standard Webhooks, symmetric `v1`). The host computes HMAC-SHA256.

use alloc::{string::String, vec::Vec};

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Returns the text that is signed. `timestamp` is in seconds since 1970 and sent as
/// `webhook-timestamp`; `id` is sent as `webhook-id`.
pub fn signed_text(id: &str, timestamp: u64, body: &str) -> String {
    format!("{id}.{timestamp}.{body}")
}

/// Returns the value of `webhook-signature` from the HMAC-SHA256 of the signed text with each
/// secret, the newest first.
pub fn header(macs: &[impl AsRef<[u8]>]) -> String {
    let signatures = macs
        .iter()
        .map(|mac| format!("v1,{}", STANDARD.encode(mac)));
    signatures.collect::<Vec<_>>().join(" ")
}
