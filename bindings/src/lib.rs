//! The bindings for JavaScript: text, bytes and numbers only, never an object per event.
//!
//! Every handle is freed by its owner; otherwise the host's finalizers free it. Errors are
//! JavaScript `Error`s with a stable `code`.

// An output that JavaScript does not get is lost: name every variant.
#![warn(clippy::wildcard_enum_match_arm)]
#![allow(
    unreachable_pub,
    clippy::float_cmp,
    clippy::needless_pass_by_value,
    clippy::unused_self,
    clippy::missing_errors_doc,
    reason = "wasm_bindgen dictates signatures and generates code"
)]

#[cfg(feature = "bus")]
mod bus;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "edge")]
mod edge;
mod error;
#[cfg(feature = "events")]
mod events;
mod number;
mod object;
#[cfg(any(feature = "bus", feature = "events"))]
mod position;
#[cfg(any(feature = "bus", feature = "events"))]
mod posted;
#[cfg(any(feature = "edge", feature = "events"))]
mod response;
#[cfg(feature = "stdio")]
mod stdio;
#[cfg(any(feature = "edge", feature = "bus"))]
mod text;
#[cfg(any(feature = "edge", feature = "events"))]
mod write_batch;
