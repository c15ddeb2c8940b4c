use wasm_bindgen::JsValue;

use crate::{clock::Millis, listen::ServerStream, scope::Scope};

use super::{accept::read_filter, error::coded};

/// The filter, as JSON text, of which somebody has to say whether the caller may still hear it; undefined: nobody has to.
pub(super) fn question_of(stream: &mut ServerStream) -> Option<String> {
    stream.poll_question().map(|filter| filter.to_json())
}

/// Somebody has said what the caller may hear; without it, or where it is no filter, that is nothing. The answer says what was
/// wrong with it.
pub(super) fn renew(
    stream: &mut ServerStream,
    authorized: Option<&str>,
    now: Millis,
) -> Option<String> {
    match authorized.map(read_filter) {
        Some(Ok(mut allowed)) => {
            allowed.scope = authorized.and_then(Scope::from_json).unwrap_or_default();
            stream.handle_granted(&allowed, now);
            None
        }
        refused => {
            stream.handle_denied();
            refused?.err().map(|error| error.to_string())
        }
    }
}

/// What a caller hears of what is not for everybody.
pub(super) fn scope_of(text: &str) -> Result<Scope, JsValue> {
    let wrong = "a name of a caller or an audience is empty, too long, or holds control characters";
    Scope::from_json(text).ok_or_else(|| coded("authorizer-failed", wrong))
}
