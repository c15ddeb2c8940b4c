//! The sans-I/O core of `subscriptions/listen`, the live notifications of the
//! Model Context Protocol (revision 2026-07-28).
//!
//! Bytes, events and the time go in; frames, rejections and deadlines come out. No code in this
//! crate reads a clock, a random source, a socket or a global, so it runs unchanged natively, in
//! workerd, in Node and in browsers.
//!
//! The modules, each of which depends only on those above it:
//!
//! - [`clock`], [`json`], [`sse`]: time as an argument, JSON text, server-sent events
//! - [`id`], [`error`], [`limits`], [`name`], [`uri`], [`task`], [`event`], [`topic`],
//!   [`position`], [`scope`], [`capabilities`], [`filter`]: the vocabulary
//! - [`wire`]: the frames between a bus, its shards and its edges
//! - [`upstream`]: following the log of a bus, over one connection after another
//! - [`bus`]: the log's replay, the edges and shards of a bus
//! - [`message`], [`offer`]: every JSON-RPC message that this crate writes, and the capabilities
//!   that the MCP server advertises
//! - [`http`]: header fields; which methods, hosts and origins are served, and the CORS headers for
//!   browsers
//! - [`metrics`]: counters that streams share
//! - [`listen`]: accepting a listen request, and both sides of its stream
//! - [`legacy`]: the requests of 2025-11-25 and earlier, and the ids of the events on their streams
//! - [`client`]: the client side over HTTP: one subscription, a watch that reopens it, and the
//!   detection of the server's revision
//! - [`fanout`]: many streams of one process, written to together
//! - [`lease`]: which request owns the socket that the streams of an isolate share
//! - [`isolate`]: streams that share one connection to the bus: an upstream, a fan-out and a lease
//! - [`off`]: servers that hold no streams
//! - [`session`]: the sessions of 2025-11-25 and earlier, apart from their store
//! - [`root`]: a bus with its log and its sessions
//! - [`exchange`]: one HTTP request, and the order of its checks
//! - [`probe`]: requests with which a gateway probes its upstream server on behalf of one caller
//! - [`publish`]: the body that a publisher posts
//! - [`events`]: MCP Events: what happened, with a payload and a cursor
//! - [`stdio`]: many subscriptions on one channel, on the server and on the client side
//!
//! The JSON that a publisher, a client or a bus writes maps to types with `serde::Serialize` and
//! `Deserialize`: [`event::ServerEvent`], [`filter::SubscriptionFilter`], [`wire`].
//!
//! Enums are `non_exhaustive`, except [`json::Value`]: they may gain variants. A host that leaves
//! out an output may lose events: clippy's `wildcard_enum_match_arm` finds those that it does not
//! name. Most structs that only the core makes are `non_exhaustive` too: they may gain fields.
//!
//! The crate `mcp-listen-browser` listens from a browser page, in Rust; `mcp-listen-tower` is a
//! layer for servers.
//!
//! `examples/axum` in the repository is a complete server. In short:
//!
//! ```
//! use mcp_listen::{
//!     clock::Millis, event::ServerEvent, filter::SubscriptionFilter, id::RequestId,
//!     listen::{ServerStream, StreamOutput},
//! };
//!
//! let id = RequestId::from_raw("1", 256).expect("a number is an id");
//! let honored = SubscriptionFilter { tools_list_changed: true, ..Default::default() };
//! let mut stream = ServerStream::new(id, honored, Millis(15_000), Millis(0));
//! stream.handle_attached(Millis(1));
//! stream.handle_event(&ServerEvent::ToolsListChanged);
//! let ack = stream.poll_output(Millis(1));
//! assert!(matches!(ack, Some(StreamOutput::Message(text)) if text.contains("acknowledged")));
//! let cue = stream.poll_output(Millis(1));
//! assert!(matches!(cue, Some(StreamOutput::Message(text)) if text.contains("list_changed")));
//! assert!(stream.poll_output(Millis(1)).is_none());
//! ```

#![no_std]

#[macro_use]
extern crate alloc;

mod backoff;
pub mod bus;
pub mod client;
pub mod clock;
pub mod events;
pub mod exchange;
pub mod fanout;
pub mod http;
pub mod isolate;
pub mod json;
pub mod lease;
pub mod legacy;
pub mod listen;
pub mod message;
pub mod metrics;
pub mod off;
pub mod offer;
pub mod probe;
pub mod publish;
mod request;
pub mod root;
pub mod session;
mod sorted;
pub mod sse;
pub mod stdio;
pub mod upstream;
mod vocabulary;
pub mod wire;

pub use vocabulary::{
    capabilities, error, event, filter, id, limits, name, position, scope, task, topic, uri,
};
