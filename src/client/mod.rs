//! The client's side: requests, answers and deadlines; whoever drives it only moves bytes.
//!
//! [`Subscription`] is one listen request and its answer. [`era`] tells which revision a server speaks,
//! and [`session`] is what a client says to one of an earlier revision. [`Listener`] puts these
//! together: one subscription to a server of whichever revision, over HTTP or a channel such as stdio.
//! [`Watch`] opens the next one when it ends.

mod approach;
mod channel;
mod end;
pub mod era;
mod http;
mod listener;
mod options;
mod question;
pub mod session;
mod subscription;
mod told;
mod watch;

pub use approach::Approach;
pub use end::{End, Loss, Refusal};
pub use http::answer::{Media, RpcError, media_of};
pub use http::request::HttpRequest;
pub use http::tap::Tap;
pub use http::wire::{Call, Transfer};
pub use listener::Listener;
pub use options::Options;
pub use subscription::{Output, Subscription};
pub use watch::{State, Watch, WatchOutput};
