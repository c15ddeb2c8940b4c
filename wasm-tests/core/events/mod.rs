//! MCP Events: occurrences, their log, and what its readers get.

mod catalogue;
mod cursor;
mod errors;
mod host;
mod identity;
mod jcs;
mod log;
mod matching;
mod occurrence;
mod rows;
mod webhook;
