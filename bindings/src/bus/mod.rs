//! A bus, and the shards of one.

mod follower;
mod handle;
mod log;
mod output;
mod publish;
mod rows;
mod sessions;
mod shards;

use mcp_listen::wire::ProtocolError;
use wasm_bindgen::JsValue;

use crate::{
    error::coded,
    position::{number, position as at},
};

fn refused(error: ProtocolError) -> JsValue {
    coded("malformed-message", &error.to_string())
}
