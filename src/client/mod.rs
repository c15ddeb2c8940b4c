//! The client's side over HTTP: requests, answers and deadlines; whoever drives it only moves bytes.
//!
//! [`Subscription`] is one listen request and its answer. [`Watch`] keeps one open through all its
//! ends. [`era`] tells which revision a server speaks, and [`session`] is what a client says to one
//! of an earlier revision.

mod answer;
mod backoff;
mod end;
pub mod era;
mod options;
mod pending;
mod request;
pub mod session;
mod stale;
mod subscription;
mod watch;

pub use answer::{Media, RpcError, media_of};
pub use end::{End, Loss, Refusal};
pub use options::Options;
pub use request::HttpRequest;
pub use stale::Stale;
pub use subscription::{Output, Subscription};
pub use watch::{State, Watch, WatchOutput};
