//! MCP Events: occurrences, their log, and what its readers get.

mod catalogue;
mod cursor;
mod errors;
mod exchange;
mod heartbeats;
mod host;
mod identity;
mod jcs;
mod log;
mod log_bytes;
mod matching;
mod occurrence;
mod poll;
mod posted;
mod readings;
mod request;
mod responses;
mod rights;
mod rows;
mod server_matching;
mod stream_world;
mod streams;
mod streams_any;
mod together;
mod truncation;
mod webhook;
