//! `subscriptions/listen` (2026-07-28): from a request to a stream of notifications.

mod accept;
mod client;
mod cues;
mod ending;
mod fanned;
mod grant;
mod headers;
mod incoming;
mod keep_alive;
mod loss;
mod output;
mod request;
mod settings;
mod stamp;
mod stream;

pub use accept::{Accepted, Claim, Verdict, accept, claim, claims_by_header, judge, may_be_listen};
pub(crate) use accept::{accept_message, is_listen};
pub(crate) use client::concerns;
pub use client::{ClientEnd, ClientStream, Notice};
pub(crate) use cues::{Cues, Since};
pub use ending::Ending;
pub use headers::Headers;
pub use incoming::Incoming;
pub use output::{Next, Output};
pub(crate) use request::{check_meta, id_of, names_method, version_of};
pub use stamp::Stamp;
pub use stream::ServerStream;
