//! stdio: one message per line, and many subscriptions on one channel (2026-07-28, stdio).

mod channel;
mod legacy;
mod lines;
mod question;
mod revision;
mod session;
mod subscriptions;

pub use channel::{Channel, ChannelLimits, Input};
pub use lines::{Line, Lines};
pub use question::DiscoverRequest;
pub use subscriptions::SubscriptionHandle;
