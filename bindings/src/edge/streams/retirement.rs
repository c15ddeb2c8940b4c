use wasm_bindgen::prelude::*;

use mcp_listen::listen::Ending;

/// Why a stream retires.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Retirement {
    /// It reached its maximum age.
    Rotated,
    /// The server drains its streams, so that clients reconnect elsewhere.
    Drained,
    /// The server made room.
    Shed,
    /// The bus object no longer serves this deployment.
    Outdated,
    /// The CPU budget of its request is spent.
    Exhausted,
}

impl Retirement {
    pub(crate) fn ending(self) -> Ending {
        match self {
            Self::Rotated => Ending::Rotated,
            Self::Drained => Ending::Drained,
            Self::Shed => Ending::Shed,
            Self::Outdated => Ending::Outdated,
            Self::Exhausted => Ending::Exhausted,
        }
    }
}
