//! The work of a host for a request until it is decided.

use mcp_listen::exchange::{Exchange, Step};

/// Reads the body, names the caller, finds the session. Returns false for any other step.
pub fn carry_out(exchange: &mut Exchange, step: &Step, body: &[u8], caller: Option<&str>) -> bool {
    match step {
        Step::Body { .. } => exchange.handle_body(body.into()),
        Step::Caller => exchange.handle_caller(caller),
        Step::Session => exchange.handle_session(),
        _ => return false,
    }
    true
}
