//! The client side: requests, responses and deadlines. The driver only moves bytes.
//!
//! [`Subscription`] is one listen request and its response. [`revision`] finds out which revision a
//! server speaks, and [`session`] holds the messages of a client to a server of an earlier
//! revision. [`Listener`] combines these: one subscription to a server of any revision, over HTTP
//! or a channel such as stdio. [`Watch`] opens a new subscription when one ends.

mod backoff;
mod channel;
mod end;
mod http;
mod listener;
mod options;
mod pending_output;
mod probe_request;
pub mod revision;
mod server_hint;
pub mod session;
mod subscription;
mod watch;

pub use end::{CloseReason, Loss, Refusal};
pub use http::message_tap::MessageTap;
pub use http::request::HttpRequest;
pub use http::request_queue::{HttpAction, RequestHandle};
pub use http::response::{Media, RpcError, media_of};
pub use listener::Listener;
pub use options::SubscriptionOptions;
pub use pending_output::SubscriptionOutput;
pub use server_hint::ServerHint;
pub use subscription::Subscription;
pub use watch::{Watch, WatchOutput, WatchState};
