//! The delivery of occurrences to webhooks.

mod address;
mod delivering;
mod ending;
mod rig;
mod secret;
mod selecting;
mod signature;
mod storing;
mod subscribing;
mod terms;
mod url;
