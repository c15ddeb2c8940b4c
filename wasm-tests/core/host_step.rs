//! The work of a host for a request until it is decided.

use mcp_listen::{
    capabilities::Capabilities,
    exchange::{Exchange, Step},
    session::SessionLimits,
};

/// Limits of a host with few sessions.
pub const SESSION_LIMITS: SessionLimits = SessionLimits {
    sessions: 4,
    unnamed_sessions: 4,
    sessions_per_principal: 4,
    uris: 2,
    session_uri_bytes: 300,
    bus_uri_bytes: 300,
    unnamed_uri_bytes: 300,
};

/// Reads the body, names the caller, finds the session, reserves room, and discovers a server that
/// offers everything. Returns false for any other step.
pub fn carry_out(exchange: &mut Exchange, step: &Step, body: &[u8], caller: Option<&str>) -> bool {
    match step {
        Step::Body { .. } => exchange.handle_body(body.into()),
        Step::Caller => exchange.handle_caller(caller),
        Step::Session => exchange.handle_session(),
        Step::Admit => exchange.handle_admitted(),
        Step::Discover => exchange.handle_discovered(Capabilities::ALL.into()),
        _ => return false,
    }
    true
}
