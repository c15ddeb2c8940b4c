//! The client's side over HTTP: requests, answers and deadlines; whoever drives it only moves bytes.
//!
//! [`Subscription`] is one listen request and its answer. [`era`] tells which revision a server speaks,
//! and [`session`] is what a client says to one of an earlier revision. [`Listener`] puts these
//! together: one subscription to a server of whichever revision, as [`ChannelListener`] is on stdio.
//! [`Renewal`] says when to open the next, and [`Watch`] opens it, over HTTP.

mod answer;
mod backoff;
mod channel_listener;
mod end;
pub mod era;
mod joining;
mod listener;
mod options;
mod pending;
mod renewal;
mod reply;
mod request;
pub mod session;
mod session_listener;
mod stale;
mod subscribes;
mod subscription;
mod tap;
mod watch;
mod wire;

pub use answer::{Media, RpcError, media_of};
pub use channel_listener::ChannelListener;
pub use end::{End, Loss, Refusal};
pub use joining::Joining;
pub use listener::{Approach, Listener};
pub use options::Options;
pub use renewal::Renewal;
pub use request::HttpRequest;
pub use stale::Stale;
pub use subscription::{Output, Subscription};
pub use tap::Tap;
pub use watch::{State, Watch, WatchOutput};
pub use wire::{Call, Transfer};
