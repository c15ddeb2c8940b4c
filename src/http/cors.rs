//! CORS headers, which let a page of another origin send requests and read the responses.

use alloc::{borrow::ToOwned, vec::Vec};

use super::headers::Field;

/// Returns the headers for every response to a page of `origin`.
pub(super) fn for_page(origin: &str) -> Vec<Field> {
    vec![
        ("access-control-allow-origin", origin.to_owned()),
        ("access-control-expose-headers", EXPOSED.to_owned()),
        ("vary", "Origin".to_owned()),
    ]
}

/// Returns the headers for a preflight request; `asked` is its `Access-Control-Request-Headers`.
pub(super) fn preflight(origin: &str, methods: &str, asked: &str) -> Vec<Field> {
    let mut allowed = ALLOWED.to_owned();
    for name in asked
        .split(',')
        .map(str::trim)
        .filter(|name| is_param(name))
    {
        allowed.push_str(", ");
        allowed.push_str(name);
    }
    let mut fields = for_page(origin);
    fields.push(("access-control-allow-methods", methods.to_owned()));
    fields.push(("access-control-allow-headers", allowed));
    fields.push(("access-control-max-age", MAX_AGE_SECONDS.to_owned()));
    fields
}

/// Whether a header is an `Mcp-Param-*`, whose names the tools of the server choose (2026-07-28,
/// Streamable HTTP: Custom Headers).
fn is_param(name: &str) -> bool {
    let prefix = name.get(..PARAM.len());
    prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(PARAM)) && name.bytes().all(is_token)
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

const PARAM: &str = "mcp-param-";
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After";
const ALLOWED: &str = "Content-Type, Accept, Authorization, MCP-Protocol-Version, Mcp-Method, \
                       Mcp-Name, Mcp-Session-Id, Last-Event-ID";
/// Browsers cache a preflight for at most two hours.
const MAX_AGE_SECONDS: &str = "7200";
