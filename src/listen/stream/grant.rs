use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::{
    clock::Millis,
    vocabulary::{
        filter::SubscriptionFilter,
        scope::{Name, Scope},
    },
};

use super::{ServerStream, end_reason::EndReason};

/// The authorization of a stream's caller, valid for a limited time.
#[derive(Debug)]
pub(crate) struct Grant {
    span: Millis,
    until: Millis,
    question: Renewal,
    /// Whether the pending authorization is outdated: it has to be asked for again.
    is_outdated: bool,
}

/// Whether a new authorization is required.
#[derive(Debug)]
enum Renewal {
    /// No: no cue is pending, or the grant is valid.
    None,
    /// Yes: a cue is pending, or the host has something to write.
    Due,
    /// The authorizer has been asked about this filter.
    Asked(Arc<SubscriptionFilter>),
}

impl Grant {
    /// Whether the grant is too old for a cue to be sent.
    fn is_stale(&self, now: Millis) -> bool {
        self.until <= now
    }
}

/// Authorization of the caller when a cue is about to be sent.
impl ServerStream {
    /// Limits the current authorization to `span`. After that, no cue is sent until
    /// [`ServerStream::poll_question`] has had a reply. Zero: valid without a limit.
    pub fn grant_for(&mut self, span: impl Into<Millis>, now: Millis) {
        let span = span.into();
        self.grant = (span > Millis(0)).then(|| {
            Box::new(Grant {
                span,
                until: now + span,
                question: Renewal::None,
                is_outdated: false,
            })
        });
    }

    /// Makes the grant stale: the caller is authorized again before the next cue is sent. Returns
    /// false without a grant.
    pub(crate) fn renew_grant(&mut self) -> bool {
        let Some(grant) = &mut self.grant else {
            return false;
        };
        grant.until = Millis(0);
        grant.is_outdated = matches!(grant.question, Renewal::Asked(_));
        true
    }

    /// Returns the filter to authorize again, once per request. Cues are withheld until
    /// [`ServerStream::handle_granted`] or [`ServerStream::handle_denied`].
    pub fn poll_question(&mut self) -> Option<Arc<SubscriptionFilter>> {
        let honored = &self.honored;
        let grant = self.grant.as_mut()?;
        matches!(grant.question, Renewal::Due).then(|| {
            grant.question = Renewal::Asked(honored.clone());
            honored.clone()
        })
    }

    /// Handles a renewed authorization for what `allowed` names. A stream that honors more ends at
    /// once and without a result: its client listens again, and gets what is allowed.
    pub fn handle_granted(&mut self, allowed: &SubscriptionFilter, now: Millis) {
        let Some(grant) = &mut self.grant else {
            return;
        };
        let Renewal::Asked(asked) = core::mem::replace(&mut grant.question, Renewal::None) else {
            return;
        };
        let is_outdated = core::mem::take(&mut grant.is_outdated);
        grant.until = if is_outdated {
            Millis(0)
        } else {
            now + grant.span
        };
        if !asked.is_subset_of(allowed) {
            self.handle_denied();
        }
    }

    /// Handles a denied or failed authorization: the stream ends at once and without a result, and
    /// pending cues are dropped.
    pub fn handle_denied(&mut self) {
        self.abort_for(EndReason::Denied);
    }

    /// Ends the stream at once and without a result, for a host that stops waiting for it: as
    /// [`ServerStream::handle_denied`] if an authorization is pending, and otherwise as
    /// [`ServerStream::abort`].
    pub fn give_up(&mut self) {
        if self.is_asking() {
            self.handle_denied();
        } else {
            self.abort();
        }
    }

    /// Whether cues are withheld now.
    pub(crate) fn is_withheld(&self, now: Millis) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| grant.is_stale(now))
    }

    /// Whether a cue is pending for an authorization, and not for room.
    pub fn is_asking(&self) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| !matches!(grant.question, Renewal::None))
    }

    /// Whether the caller may receive what the host writes itself. If not, an authorization is
    /// required, see [`ServerStream::poll_question`].
    #[inline(never)]
    pub fn may_send(&mut self, now: Millis) -> bool {
        let Some(grant) = self.grant.as_mut().filter(|grant| grant.is_stale(now)) else {
            return true;
        };
        if matches!(grant.question, Renewal::None) {
            grant.question = Renewal::Due;
        }
        false
    }

    /// Called when a cue could be sent. Returns whether it has to wait for an authorization.
    pub(crate) fn withhold(&mut self, now: Millis) -> bool {
        if !self.is_withheld(now) || self.is_paused || self.pending_cues() == 0 {
            return false;
        }
        self.may_send(now);
        // There is room, so the client is not stalled.
        self.lifetime.handle_polled();
        true
    }

    /// Returns the caller's scope if `allowed` has groups that the stream does not receive yet:
    /// the holder of the stream registers it again with this scope. `None` if the stream has all of
    /// them, or is closing.
    pub fn wider_scope(&self, allowed: &SubscriptionFilter) -> Option<Scope> {
        let scope = &self.honored.scope;
        let groups = &allowed.scope.groups;
        let has_all = groups.iter().all(|name| scope.groups.contains(name));
        (self.is_open() && !has_all).then(|| Scope {
            groups: groups.clone(),
            ..scope.clone()
        })
    }

    /// Sets the groups and principals of the caller. Call it before the stream is registered
    /// anywhere.
    pub fn scope_to(&mut self, scope: Scope) {
        let honored = SubscriptionFilter::clone(&self.honored);
        self.honored = Arc::new(SubscriptionFilter { scope, ..honored });
    }

    /// Handles the disconnect of a caller: if it is the caller of this stream, the stream ends at
    /// once and without a result.
    pub(crate) fn handle_disconnect(&mut self, principal: &Name) {
        if self.honored.scope.principals.contains(principal) {
            self.abort_for(EndReason::Denied);
        }
    }
}
