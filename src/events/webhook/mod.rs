//! The delivery of occurrences to webhooks.

mod address;
mod secret;
pub mod signature;
mod terms;
mod url;

pub use address::is_public_address;
pub use secret::Secret;
pub use terms::{Terms, Wish};
pub use url::{Callback, UrlError, UrlParts, UrlRules};
