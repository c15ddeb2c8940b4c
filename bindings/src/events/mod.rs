//! MCP Events.

mod exchange;
mod log;
mod posted;
mod rows;
mod service;
mod step;
mod streams;
mod text;
mod webhook;
