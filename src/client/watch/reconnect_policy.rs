use crate::clock::Millis;

use crate::client::{
    backoff::Backoff,
    end::{CloseReason, Loss, Refusal},
    revision::is_transient,
};

/// Decides when to reopen a subscription that has ended, if at all, independent of its transport.
///
/// Each wait is drawn between 0 and a ceiling that doubles from half a second to 30 seconds (the
/// seed is an argument) and resets once a subscription was open for half a minute. A wait that the
/// server asks for comes on top. There is no next subscription if the same request would end the
/// same way: the caller is not allowed to send it, the server has rejected it, or it honors
/// nothing.
#[derive(Debug)]
pub(crate) struct ReconnectPolicy {
    backoff: Backoff,
    was_live: bool,
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    since: Millis,
    is_empty: bool,
}

impl ReconnectPolicy {
    /// Creates the state of a subscription that was never open; `seed` is any random number.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            backoff: Backoff::new(seed),
            was_live: false,
            live: None,
        }
    }

    /// Handles the opening of the subscription; `is_empty` says that it honors nothing. Returns
    /// whether a subscription was open before, so that changes may have been missed in between.
    pub(crate) fn handle_live(&mut self, is_empty: bool, now: Millis) -> bool {
        self.live = Some(Live {
            since: now,
            is_empty,
        });
        core::mem::replace(&mut self.was_live, true)
    }

    /// Handles the end of the subscription; `server_wait` is the wait that the server asked for.
    /// Returns when to open the next subscription; `None` if there is none.
    pub(crate) fn handle_end(
        &mut self,
        end: &CloseReason,
        server_wait: Option<Millis>,
        now: Millis,
    ) -> Option<Millis> {
        let live = self.live.take();
        if is_final(end, live.as_ref().is_some_and(|live| live.is_empty)) {
            return None;
        }
        if live.is_some_and(|live| now - live.since >= STABLE) {
            self.backoff.reset();
        }
        Some(now + server_wait.unwrap_or_default() + self.backoff.next_wait())
    }
}

fn is_final(end: &CloseReason, is_empty: bool) -> bool {
    match end {
        CloseReason::Graceful => is_empty,
        CloseReason::Lost(loss) => *loss == Loss::Redirected,
        CloseReason::Refused(Refusal { status, code, .. }) => match status {
            401 | 403 => true,
            // A request that did not arrive in time has the code of a malformed one.
            status if is_transient(*status) => false,
            _ => code.is_some_and(|code| REQUEST_ERRORS.contains(&code)),
        },
    }
}

/// A subscription that was open for this long shows that the server is healthy.
const STABLE: Millis = Millis(30_000);
/// Error codes that blame the request itself, unless the status is transient: its shape, method,
/// parameters, header fields, capabilities or version.
const REQUEST_ERRORS: [i32; 6] = [-32_600, -32_601, -32_602, -32_020, -32_021, -32_022];
