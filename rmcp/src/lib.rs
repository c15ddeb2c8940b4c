//! `subscriptions/listen` of the Model Context Protocol (2026-07-28) for servers made with
//! [rmcp](https://docs.rs/rmcp), the official Rust SDK: a [`Bus`] that feeds the sinks of all subscriptions.
//!
//! The SDK acknowledges a subscription and hands over a sink for it. Which sinks there are, what each wants, and what
//! waits for a slow reader is up to the server: that is in here.
//!
//! ```
//! use mcp_listen_rmcp::{Bus, ServerEvent, Subscriptions};
//! use rmcp::{ErrorData, ServerHandler, model::SubscriptionFilter, service::SubscriptionContext};
//!
//! #[derive(Clone)]
//! struct Notes {
//!     subscriptions: Subscriptions,
//! }
//!
//! impl ServerHandler for Notes {
//!     fn accepted_subscription_filter(&self, asked: &SubscriptionFilter) -> Option<SubscriptionFilter> {
//!         Some(self.subscriptions.accept(asked))
//!     }
//!
//!     async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
//!         self.subscriptions.listen(context).await
//!     }
//! }
//!
//! let bus = Bus::new();
//! let notes = Notes { subscriptions: Subscriptions::new(bus.clone()) };
//! // notes.serve(rmcp::transport::stdio()).await, or StreamableHttpService::new(move || Ok(notes.clone()), ...)
//! bus.publish(ServerEvent::ToolsListChanged);
//! # drop(notes);
//! ```
//!
//! [`Bus`] is that of `mcp-listen-tower`: one bus feeds both. It holds the subscriptions of this process, and nothing
//! that is published leaves the process. What a client does not read collapses: for each list and URI at most one
//! notification waits.
//!
//! The SDK does not tell a handler who asks before it has acknowledged. Where callers may hear different things, put
//! `mcp_listen_tower::ListenLayer` around the SDK's `StreamableHttpService`: it answers listen requests itself, and asks
//! `authorize` first.

mod filter;
mod subscriptions;
mod waiting;

pub use mcp_listen_tower::{Bus, Label, Scope, ServerEvent, Uri};
pub use subscriptions::Subscriptions;
