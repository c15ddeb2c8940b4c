//! The behavior of the core, natively and as wasm32 in Node and in browsers.
//!
//! Each module imports `test`: on wasm32 that is the attribute of `wasm_bindgen_test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "tests report failures by panicking"
)]

extern crate alloc;

mod accept;
mod alone;
mod any;
mod backoff;
mod body;
mod both_sides;
mod bus;
mod channel;
mod channel_claims;
mod channel_legacy;
mod channel_listener;
mod client;
mod closing;
mod corpus;
mod corpus_case;
mod corpus_legacy;
mod delta;
mod discovered;
mod edge;
mod ending;
mod event;
mod events;
mod exchange;
mod fanout;
mod fanout_readers;
mod fanout_twins;
mod filter;
mod follow;
mod grant;
mod healing;
mod host_step;
mod id;
mod index;
mod initialize;
mod isolate;
mod json;
mod latest_by_topic;
mod lease;
mod legacy;
mod lines;
mod listener;
mod listeners;
mod log;
mod loss;
mod message;
mod message_tap;
mod metrics;
mod name_budget;
mod neighbours;
mod off;
mod offer;
mod options;
mod over_http;
mod overtaken;
mod pause;
mod probe;
mod publish;
mod request;
mod responses;
mod resume;
mod revision;
mod root;
mod scope;
mod screening;
mod serde;
mod server_corpus;
mod session;
mod session_host;
mod session_losses;
mod session_request;
mod session_root;
mod sessions;
mod shard_rows;
mod shards;
mod sorted;
mod sse;
mod sse_decode;
mod stream;
mod subscription;
mod task;
mod wanted;
mod watch;
mod watch_again;
mod watch_legacy;
mod wire;
mod wire_corpus;
