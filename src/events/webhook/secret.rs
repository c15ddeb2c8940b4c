use alloc::vec::Vec;
use core::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// The key with which the messages of a subscription are signed: `whsec_` and the base64 of 24 to
/// 64 bytes (Standard Webhooks).
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads a secret; `None` if it is not valid.
    pub fn new(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.strip_prefix(PREFIX)?).ok()?;
        (24..=64).contains(&bytes.len()).then_some(Self(bytes))
    }

    /// Returns the key for HMAC-SHA256.
    pub fn key(&self) -> &[u8] {
        &self.0
    }
}

/// Does not show the key.
impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret")
    }
}

const PREFIX: &str = "whsec_";
