use serde::{Deserialize, Serialize};

use crate::{clock::Millis, json};

use super::super::TtlOptions;

/// The lifetimes and limits of a deliverer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DelivererOptions {
    /// How long subscriptions last.
    pub ttl: TtlOptions,
    /// Milliseconds after which the server has to authorize a subscription again. Default none:
    /// only when it is made or renewed.
    pub authorization_ttl_ms: Option<Millis>,
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
            authorization_ttl_ms: None,
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
}
