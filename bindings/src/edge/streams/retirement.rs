use wasm_bindgen::prelude::*;

use mcp_listen::listen::EndReason;

/// Why a stream retires.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Retirement {
    /// It reached its maximum age.
    Rotated,
    /// The server drains its streams, so that clients reconnect elsewhere.
    Drained,
    /// The bus object no longer serves this deployment.
    Outdated,
    /// The CPU budget of its request is spent.
    Exhausted,
}

impl Retirement {
    pub(crate) fn ending(self) -> EndReason {
        match self {
            Self::Rotated => EndReason::Rotated,
            Self::Drained => EndReason::Drained,
            Self::Outdated => EndReason::Outdated,
            Self::Exhausted => EndReason::Exhausted,
        }
    }
}
