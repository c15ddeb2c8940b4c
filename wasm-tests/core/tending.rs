//! What a host does for a request until that is decided.

use mcp_listen::exchange::{Exchange, Step};

/// Reads the body, names the caller, finds the session. False: the step is none of these.
pub fn tend(exchange: &mut Exchange, step: &Step, body: &[u8], caller: Option<&str>) -> bool {
    match step {
        Step::Body { .. } => exchange.handle_body(body.into()),
        Step::Caller => exchange.handle_caller(caller),
        Step::Session => exchange.handle_session(),
        _ => return false,
    }
    true
}
