use crate::{clock::Millis, listen::ServerStream};

use super::accept::read_filter;

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
        Some(Ok(allowed)) => {
            stream.handle_granted(&allowed, now);
            None
        }
        refused => {
            stream.handle_denied();
            refused?.err().map(|error| error.to_string())
        }
    }
}
