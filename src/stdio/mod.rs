//! stdio: one message per line, and many subscriptions on one channel (2026-07-28, stdio).

mod channel;
mod discover_request;
mod legacy;
mod lines;
mod revision;
mod session;
mod subscriptions;

pub use channel::{Channel, ChannelLimits, Input};
pub use discover_request::DiscoverRequest;
pub use lines::{Line, Lines};
pub use subscriptions::SubscriptionHandle;
