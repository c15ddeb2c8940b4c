//! The bindings for JavaScript: text, bytes and numbers only, never an object per event.
//!
//! Every handle is freed by its owner; JavaScript that forgets leaves it to the host's
//! finalizers. Errors are JavaScript `Error`s with a stable `code`.

#![allow(
    unreachable_pub,
    clippy::float_cmp,
    clippy::needless_pass_by_value,
    clippy::unused_self,
    clippy::missing_errors_doc,
    reason = "wasm_bindgen dictates signatures and generates code"
)]

#[cfg(feature = "server")]
mod accept;
#[cfg(feature = "browser")]
pub mod browser;
#[cfg(feature = "server")]
mod bus;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod discovered;
#[cfg(any(feature = "server", feature = "client"))]
mod error;
#[cfg(feature = "server")]
mod fanout;
#[cfg(feature = "server")]
mod front;
#[cfg(feature = "server")]
mod grant;
#[cfg(feature = "server")]
mod isolate;
#[cfg(feature = "server")]
mod legacy;
#[cfg(feature = "server")]
mod listener;
#[cfg(feature = "server")]
mod probe;
#[cfg(feature = "server")]
mod publish;
#[cfg(feature = "server")]
mod retirement;
#[cfg(feature = "server")]
mod shard;
#[cfg(feature = "server")]
mod shards;
#[cfg(feature = "server")]
mod stdio;
#[cfg(feature = "server")]
mod stream;
#[cfg(feature = "server")]
mod tally;
#[cfg(feature = "server")]
mod text;

#[cfg(feature = "server")]
use wasm_bindgen::prelude::*;

use crate::clock::Millis;
#[cfg(feature = "server")]
use crate::position::Position;

/// The version of the package.
#[cfg(feature = "server")]
#[wasm_bindgen(js_name = packageVersion)]
pub fn package_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The host's clock as the core takes it; what is no time counts as zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, and fractions of a millisecond do not matter"
)]
fn millis(now: f64) -> Millis {
    Millis(now as u64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a clock stays far below 2^53 ms"
)]
fn time(at: Millis) -> f64 {
    at.0 as f64
}

#[cfg(feature = "server")]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions are whole numbers below 2^53, and the cast saturates"
)]
fn at(position: f64) -> Position {
    Position(position as u64)
}

#[cfg(feature = "server")]
#[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
fn number(position: Position) -> f64 {
    position.0 as f64
}
