use core::time::Duration;

use serde::{Deserialize, Deserializer};

use crate::{clock::Millis, json};

use super::super::TtlOptions;

/// The lifetimes and limits of a deliverer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DelivererOptions {
    /// How long subscriptions last.
    pub ttl: TtlOptions,
    /// How long until the server has to authorize a subscription again. Default none: only when it
    /// is made or renewed.
    #[serde(rename = "authorizationTtlMs", deserialize_with = "read_ttl")]
    pub authorization_ttl: Option<Duration>,
    /// Subscriptions of one subscriber. Default 100.
    pub max_per_principal: usize,
    /// Subscriptions of this deliverer. Default 10,000.
    pub max_held: usize,
    /// Subscriptions of the whole bus. Default 10,000.
    pub max_total: usize,
}

impl Default for DelivererOptions {
    fn default() -> Self {
        Self {
            ttl: TtlOptions::default(),
            authorization_ttl: None,
            max_per_principal: 100,
            max_held: 10_000,
            max_total: 10_000,
        }
    }
}

impl DelivererOptions {
    /// Reads an object with any of the options; `None` if one of them is not valid.
    pub fn from_json(text: &str) -> Option<Self> {
        json::from_text(text)
    }

    /// Returns when the server has to authorize a subscription again that it authorizes now.
    pub(super) fn authorize_at(&self, now: Millis) -> Option<Millis> {
        self.authorization_ttl.map(|ttl| now + ttl.into())
    }
}

fn read_ttl<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let ttl = Option::<Millis>::deserialize(from)?;
    Ok(ttl.map(Duration::from))
}
