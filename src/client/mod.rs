//! The client's side: requests, answers and deadlines; whoever drives it only moves bytes.
//!
//! [`Subscription`] is one listen request and its answer. [`era`] tells which revision a server speaks,
//! and [`session`] is what a client says to one of an earlier revision. [`Listener`] puts these
//! together: one subscription to a server of whichever revision, over HTTP or a channel such as stdio.
//! [`Watch`] opens the next one when it ends.

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
