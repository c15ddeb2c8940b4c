//! The client side: requests, answers and deadlines. The driver only moves bytes.
//!
//! [`Subscription`] is one listen request and its answer. [`era`] finds out which revision a server
//! speaks, and [`session`] holds the messages of a client to a server of an earlier revision.
//! [`Listener`] combines these: one subscription to a server of any revision, over HTTP or a
//! channel such as stdio. [`Watch`] opens a new subscription when one ends.

mod answer;
mod approach;
mod backoff;
mod channel;
mod end;
pub mod era;
mod listener;
mod options;
mod question;
mod renewal;
mod reply;
mod request;
pub mod session;
mod session_listener;
mod subscribes;
mod subscription;
mod tap;
mod told;
mod watch;
mod wire;

pub use answer::{Media, RpcError, media_of};
pub use approach::Approach;
pub use end::{End, Loss, Refusal};
pub use listener::Listener;
pub use options::Options;
pub use request::HttpRequest;
pub use subscription::{Output, Subscription};
pub use tap::Tap;
pub use watch::{State, Watch, WatchOutput};
pub use wire::{Call, Transfer};
