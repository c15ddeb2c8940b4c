//! The delivery of occurrences to webhooks.

mod address;
mod secret;
mod signature;
mod terms;
mod url;
