//! MCP Events: occurrences, their log, and what its readers get.

mod catalogue;
mod cursor;
mod errors;
mod exchange;
mod host;
mod identity;
mod jcs;
mod log;
mod matching;
mod occurrence;
mod poll;
mod request;
mod rows;
mod stream_world;
mod streams;
mod streams_any;
mod webhook;
