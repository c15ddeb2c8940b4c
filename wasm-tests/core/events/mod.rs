//! MCP Events: occurrences, their log, and what its readers get.

mod cursor;
mod identity;
mod jcs;
mod log;
mod occurrence;
mod posted;
mod rows;
mod webhook;
