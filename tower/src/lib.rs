//! `subscriptions/listen` of the Model Context Protocol (2026-07-28) for MCP servers in Rust: a
//! tower layer that responds to listen requests with a stream of notifications, and passes every
//! other request on.
//!
//! ```
//! use mcp_listen_tower::{Bus, Capabilities, ListenLayer, ServerEvent};
//!
//! let bus = Bus::new();
//! let capabilities = Capabilities { tools_list_changed: true, ..Capabilities::default() };
//! let layer = ListenLayer::new(bus.clone(), capabilities);
//! // With axum: Router::new().route("/mcp", any(mcp_server)).layer(layer)
//! bus.publish(ServerEvent::ToolsListChanged);
//! # drop(layer);
//! ```
//!
//! [`Bus`] holds the streams of this process: an event is delivered to the streams in this process
//! only. Unread notifications collapse: at most one is pending for each kind and URI. Requires a
//! tokio runtime with time enabled. `examples/axum` in the repository is a complete server.

mod authorize;
mod body;
mod bus;
mod changes;
mod layer;
mod request;
mod service;
mod stream_body;
mod streams;

pub use authorize::{Denied, Grant};
pub use body::Body;
pub use bus::Bus;
pub use changes::Changes;
pub use layer::ListenLayer;
pub use mcp_listen::{
    capabilities::Capabilities,
    event::ServerEvent,
    filter::SubscriptionFilter,
    http::PolicyError,
    limits::Limits,
    publish::{PublishError, events as events_in},
    scope::{Name, Scope},
    uri::Uri,
};
pub use service::Listen;
