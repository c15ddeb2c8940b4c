use crate::clock::Millis;

use crate::client::{
    end::{End, Loss},
    watch::backoff::Backoff,
};

/// When a subscription that has ended is opened again, if at all; whatever carries it.
///
/// The wait is any time up to a ceiling that doubles from half a second to 30 (the seed is an
/// argument) and starts anew once a subscription was open for half a minute; what the server asks for
/// is waited out before that. It is over where the same request would end the same way: the caller may
/// not ask it, the server has judged it, or there is nothing in it to hear.
#[derive(Debug)]
pub(crate) struct Renewal {
    backoff: Backoff,
    was_live: bool,
    live: Option<Live>,
}

#[derive(Debug)]
struct Live {
    since: Millis,
    is_empty: bool,
}

impl Renewal {
    /// Of a subscription that was never open; `seed` is any random number.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            backoff: Backoff::new(seed),
            was_live: false,
            live: None,
        }
    }

    /// The subscription is open, with nothing to hear where `is_empty`. The answer is whether one was
    /// open before, so that changes may have been missed since.
    pub(crate) fn handle_live(&mut self, is_empty: bool, now: Millis) -> bool {
        self.live = Some(Live {
            since: now,
            is_empty,
        });
        core::mem::replace(&mut self.was_live, true)
    }

    /// The subscription has ended, where the server asked to wait for `asked`. The answer is when to
    /// open the next; `None`: never.
    pub(crate) fn handle_end(
        &mut self,
        end: &End,
        asked: Option<Millis>,
        now: Millis,
    ) -> Option<Millis> {
        let live = self.live.take();
        if is_final(end, live.as_ref().is_some_and(|live| live.is_empty)) {
            return None;
        }
        if live.is_some_and(|live| now - live.since >= STABLE) {
            self.backoff.reset();
        }
        Some(now + asked.unwrap_or_default() + self.backoff.next_wait())
    }
}

fn is_final(end: &End, is_empty: bool) -> bool {
    match end {
        End::Graceful => is_empty,
        End::Lost(loss) => *loss == Loss::Redirected,
        End::Refused(refusal) => {
            matches!(refusal.status, 401 | 403)
                || refusal.code.is_some_and(|code| JUDGMENTS.contains(&code))
        }
    }
}

/// A subscription that was open so long has shown that the server is well.
const STABLE: Millis = Millis(30_000);
/// The codes of what is wrong with a request itself: its shape, its method, its parameters, its
/// header fields, its capabilities, its version.
const JUDGMENTS: [i32; 6] = [-32_600, -32_601, -32_602, -32_020, -32_021, -32_022];
