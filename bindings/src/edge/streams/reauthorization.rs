use wasm_bindgen::JsValue;

use mcp_listen::{clock::Millis, fanout::StreamMut, scope::Scope};

use crate::{edge::options::read_filter, error::coded, number::millis};

/// The result of a renewed authorization.
#[derive(Default)]
pub(crate) struct Reauthorized {
    /// The error, if it was not valid.
    pub(crate) error: Option<String>,
    /// The scope of the stream, if the caller has further groups now.
    pub(crate) scope: Option<Scope>,
}

/// Applies a renewed authorization; a missing or invalid filter denies everything.
pub(crate) fn renew(
    stream: &mut StreamMut<'_>,
    authorized: Option<&str>,
    now: Millis,
) -> Reauthorized {
    match authorized.map(read_filter) {
        Some(Ok(mut allowed)) => {
            allowed.scope = authorized.and_then(Scope::from_json).unwrap_or_default();
            stream.handle_granted(&allowed, now);
            Reauthorized {
                error: None,
                scope: stream.wider_scope(&allowed),
            }
        }
        refused => {
            stream.handle_denied();
            let error = refused.and_then(Result::err);
            Reauthorized {
                error: error.map(|error| error.to_string()),
                scope: None,
            }
        }
    }
}

/// Sets when a stream expires; `None` for never.
pub(crate) fn expire(stream: &mut StreamMut<'_>, at: Option<f64>) {
    match at {
        Some(at) => stream.expire_at(millis(at)),
        None => stream.never_expire(),
    }
}

/// Parses the groups and principals of a caller.
pub(crate) fn scope_of(text: &str) -> Result<Scope, JsValue> {
    let message =
        "a name of a caller or a group is empty, too long, or contains control characters";
    Scope::from_json(text).ok_or_else(|| coded("authorizer-failed", message))
}
