//! The delivery of occurrences to webhooks.

mod address;
mod rig;
mod secret;
mod signature;
mod subscribing;
mod terms;
mod url;
