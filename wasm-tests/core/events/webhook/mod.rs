//! The delivery of occurrences to webhooks.

mod address;
mod delivering;
mod ending;
mod rig;
mod selecting;
mod storing;
mod subscribing;
mod ttl;
mod url;
