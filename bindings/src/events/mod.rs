//! MCP Events.

mod log;
mod rows;
