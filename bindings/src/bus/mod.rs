//! A bus, and the shards of one.

mod handle;
mod listener;
mod log;
mod output;
mod publish;
mod rows;
mod sessions;
mod shards;

use mcp_listen::{position::Position, wire::ProtocolError};
use wasm_bindgen::JsValue;

use crate::error::coded;

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positions are whole numbers below 2^53, and the cast saturates"
)]
fn at(position: f64) -> Position {
    Position(position as u64)
}

#[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
fn number(position: Position) -> f64 {
    position.0 as f64
}

fn refused(error: ProtocolError) -> JsValue {
    coded(error.code(), &error.to_string())
}
