//! The delivery of occurrences to webhooks.

mod address;
mod asking;
mod delivering;
mod ending;
mod renewing;
mod rig;
mod selecting;
mod sharing;
mod storing;
mod subscribing;
mod ttl;
mod url;
