use wasm_bindgen::prelude::*;

use mcp_listen::listen::Ending;

/// Why a stream is to end that is neither closed nor lost.
#[wasm_bindgen]
#[derive(Clone, Copy)]
pub enum Retirement {
    /// It has reached its age.
    Rotated,
    /// The server sends its clients elsewhere.
    Drained,
    /// The server makes room.
    Shed,
    /// The bus object no longer serves this deployment.
    Outdated,
    /// The processor budget of its request is spent.
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
