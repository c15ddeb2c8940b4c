//! MCP Events: occurrences, their log, and what its readers get.

mod cursor;
mod log;
mod occurrence;
mod rows;
