//! `subscriptions/listen` of the Model Context Protocol (2026-07-28) for servers built with
//! [rmcp](https://docs.rs/rmcp), the official Rust SDK: a [`Bus`] that feeds the sinks of all
//! subscriptions.
//!
//! The SDK acknowledges a subscription and passes a sink for it to the server. This crate does the
//! rest: it tracks the sinks and what each subscribes to, and holds what a slow client has not
//! read.
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
//!     fn accepted_subscription_filter(
//!         &self,
//!         requested: &SubscriptionFilter,
//!     ) -> Option<SubscriptionFilter> {
//!         Some(self.subscriptions.accept(requested))
//!     }
//!
//!     async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
//!         self.subscriptions.listen(context).await
//!     }
//! }
//!
//! let bus = Bus::new();
//! let notes = Notes { subscriptions: Subscriptions::new(bus.clone()) };
//! // Then: notes.serve(rmcp::transport::stdio()).await
//! // Or: StreamableHttpService::new(move || Ok(notes.clone()), ...)
//! bus.publish(ServerEvent::ToolsListChanged);
//! # drop(notes);
//! ```
//!
//! [`Bus`] is that of `mcp-listen-tower`: one bus can feed both. It holds the subscriptions of this
//! process, and events do not leave the process. Unread notifications collapse: at most one is
//! pending for each list and URI.
//!
//! The SDK does not reveal the caller to a handler before it has acknowledged the request. If
//! callers have different rights, put `mcp_listen_tower::ListenLayer` around the SDK's
//! `StreamableHttpService`: it serves listen requests itself, and calls `authorize` first.

mod filter;
mod pending;
mod subscriptions;

pub use mcp_listen_tower::{Bus, Name, Scope, ServerEvent, Uri};
pub use subscriptions::Subscriptions;
