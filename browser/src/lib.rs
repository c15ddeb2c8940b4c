//! Listening from a page or a worker of a browser, in Rust: the machines of [`client`](mcp_listen::client) over
//! `fetch`, without JavaScript of one's own.
//!
//! Servers of 2026-07-28 and those of 2025, which keep sessions, are heard alike.
//!
//! On wasm32 alone: elsewhere this crate is empty.
//!
//! ```no_run
//! use std::{future::poll_fn, pin::Pin};
//!
//! use futures_core::Stream;
//! use mcp_listen::filter::SubscriptionFilter;
//! use mcp_listen_browser::{ListenError, ListenOptions, listen};
//!
//! async fn keep_fresh(mut refetch: impl FnMut()) -> Result<(), ListenError> {
//!     let filter = SubscriptionFilter { tools_list_changed: true, ..Default::default() };
//!     let mut changes = listen("https://mcp.example/mcp", filter, ListenOptions::default()).await?;
//!     refetch();
//!     while let Some(change) = poll_fn(|context| Pin::new(&mut changes).poll_next(context)).await {
//!         change?;
//!         refetch();
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `StreamExt::next` of the crate `futures` stands for the `poll_fn` above.

#![cfg(target_arch = "wasm32")]

mod drive;
mod error;
mod exchange;
mod host;
mod options;
mod subscription;
mod token;
mod watch;

pub use error::ListenError;
pub use options::ListenOptions;
pub use subscription::{Subscription, listen};
pub use token::Token;
pub use watch::{Watch, WatchEvent, watch};
