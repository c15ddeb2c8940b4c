//! Listening from a page or a worker of a browser, in Rust: the state machines of
//! [`client`](mcp_listen::client) over `fetch`, without JavaScript code.
//!
//! Both servers of 2026-07-28 and servers of 2025 with sessions are supported.
//!
//! On other targets than wasm32, this crate is empty.
//!
//! ```no_run
//! use std::{future::poll_fn, pin::Pin};
//!
//! use futures_core::Stream;
//! use mcp_listen::filter::SubscriptionFilter;
//! use mcp_listen_browser::{ListenError, ListenOptions, listen};
//!
//! const URL: &str = "https://mcp.example/mcp";
//!
//! async fn keep_fresh(mut refetch: impl FnMut()) -> Result<(), ListenError> {
//!     let filter = SubscriptionFilter { tools_list_changed: true, ..Default::default() };
//!     let mut changes = listen(URL, filter, ListenOptions::default()).await?;
//!     refetch();
//!     while let Some(change) = poll_fn(|cx| Pin::new(&mut changes).poll_next(cx)).await {
//!         change?;
//!         refetch();
//!     }
//!     Ok(())
//! }
//! ```
//!
//! With `StreamExt::next` of the crate `futures-util`, the `poll_fn` above is not needed.

#![cfg(target_arch = "wasm32")]
#![warn(clippy::wildcard_enum_match_arm)]

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
