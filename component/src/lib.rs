//! The core as a WebAssembly component: the world `listen` of `wit/listen.wit`, which documents
//! every item.
//!
//! Each resource is one machine of the core. It converts what crosses, and decides nothing.

#![warn(clippy::wildcard_enum_match_arm)]

mod bus;
mod client;
mod convert;
mod exchange;
mod fanout;
mod isolate;
mod shard;

/// What wit-bindgen generates from `wit/listen.wit`.
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    reason = "generated"
)]
mod generated {
    use super::Component;

    wit_bindgen::generate!({ path: "../wit", world: "listen", generate_all });
    export!(Component with_types_in self);
}
use generated::exports::mcp_listen::core as wit;

/// The component.
struct Component;
