//! The delivery of occurrences to webhooks.

mod address;
mod any;
mod asking;
mod delivering;
mod disconnect;
mod disk;
mod ending;
mod limits;
mod outages;
mod renewing;
mod rig;
mod selecting;
mod sharing;
mod stored;
mod storing;
mod subscribing;
mod ttl;
mod turns;
mod url;
