use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::{
    clock::Millis,
    vocabulary::{
        filter::SubscriptionFilter,
        scope::{Name, Scope},
    },
};

use super::{ServerStream, cues::Since, end_reason::EndReason};

/// The authorization of a stream's caller, valid for a limited time.
#[derive(Debug)]
pub(super) struct Grant {
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
    fn new(until: Millis, span: Millis) -> Self {
        Self {
            span,
            until,
            question: Renewal::None,
            is_outdated: false,
        }
    }

    /// Whether the grant is too old for a cue to be sent.
    fn is_stale(&self, now: Millis) -> bool {
        self.until <= now
    }

    /// Whether an authorization is required or pending.
    fn is_asking(&self) -> bool {
        !matches!(self.question, Renewal::None)
    }

    /// Requires an authorization, unless one is required or pending.
    fn require(&mut self) {
        if !self.is_asking() {
            self.question = Renewal::Due;
        }
    }

    /// Makes the grant stale, and the pending authorization outdated.
    fn expire(&mut self) {
        self.until = Millis(0);
        self.is_outdated = matches!(self.question, Renewal::Asked(_));
    }

    /// Returns the filter to authorize, once per request.
    fn poll_question(
        &mut self,
        honored: &Arc<SubscriptionFilter>,
    ) -> Option<Arc<SubscriptionFilter>> {
        matches!(self.question, Renewal::Due).then(|| {
            self.question = Renewal::Asked(honored.clone());
            honored.clone()
        })
    }

    /// Handles a renewed authorization. Returns the filter that it was asked about.
    fn handle_granted(&mut self, now: Millis) -> Option<Arc<SubscriptionFilter>> {
        let Renewal::Asked(asked) = core::mem::replace(&mut self.question, Renewal::None) else {
            return None;
        };
        let is_outdated = core::mem::take(&mut self.is_outdated);
        self.until = if is_outdated {
            Millis(0)
        } else {
            now + self.span
        };
        Some(asked)
    }
}

/// Authorization of the caller when a cue is about to be sent, and after events were lost.
impl ServerStream {
    /// Limits the current authorization to `span`. After that, no cue is sent until
    /// [`ServerStream::poll_question`] has had a reply. Zero: valid without a limit.
    pub fn grant_for(&mut self, span: impl Into<Millis>, now: Millis) {
        let span = span.into();
        self.grant_until(now + span, span);
    }

    /// As [`ServerStream::grant_for`], for an authorization that was given before and is valid
    /// until a time. `span` limits those that renew it.
    pub fn grant_until(&mut self, until: Millis, span: Millis) {
        self.grant = (span > Millis(0)).then(|| Box::new(Grant::new(until, span)));
    }

    /// Returns the filter to authorize again, once per request. Cues are withheld until
    /// [`ServerStream::handle_granted`] or [`ServerStream::handle_denied`].
    pub fn poll_question(&mut self) -> Option<Arc<SubscriptionFilter>> {
        self.grant.as_mut()?.poll_question(&self.honored)
    }

    /// Handles a renewed authorization for what `allowed` names. A stream that honors more ends at
    /// once and without a result: its client listens again, and gets what is allowed.
    pub fn handle_granted(&mut self, allowed: &SubscriptionFilter, now: Millis) {
        let grant = self.grant.as_mut();
        let asked = grant.and_then(|grant| grant.handle_granted(now));
        if asked.is_some_and(|asked| !asked.is_subset_of(allowed)) {
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
        self.grant.as_ref().is_some_and(|grant| grant.is_asking())
    }

    /// Whether the caller may receive what the host writes itself. If not, an authorization is
    /// required, see [`ServerStream::poll_question`].
    #[inline(never)]
    pub fn may_send(&mut self, now: Millis) -> bool {
        let stale = self.grant.as_mut().filter(|grant| grant.is_stale(now));
        let Some(grant) = stale else {
            return true;
        };
        grant.require();
        false
    }

    /// Called when a cue could be sent. Returns whether it has to wait for an authorization.
    pub(super) fn withhold(&mut self, now: Millis) -> bool {
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
    pub(super) fn handle_disconnect(&mut self, principal: &Name) {
        if self.honored.scope.principals.contains(principal) {
            self.abort_for(EndReason::Denied);
        }
    }

    /// Handles a possible loss of events: cues every honored list and resource once. The state of a
    /// task cannot be reconstructed from a cue.
    pub fn handle_gap(&mut self) {
        if !self.is_opening() && !self.is_open() {
            return;
        }
        for event in self.honored.subjects() {
            self.cues.push(&event, Since::default());
        }
    }

    /// Handles a loss of unknown events: cues every honored list and resource once, and stays open.
    ///
    /// The disconnect of a named caller may be among the lost events, so the caller is authorized
    /// again before the next cue is sent. Without a grant to renew, the stream ends at once, as
    /// [`EndReason::Denied`]. A stream that honors tasks ends as [`EndReason::Lost`] once pending
    /// cues are sent: its client listens again and reads the states of its tasks.
    pub fn handle_loss(&mut self) {
        if self.is_named() {
            let Some(grant) = &mut self.grant else {
                return self.handle_denied();
            };
            grant.expire();
        }
        if self.honored.task_ids.is_empty() {
            self.handle_gap();
        } else {
            self.retire(EndReason::Lost);
        }
    }

    /// As [`ServerStream::handle_loss`], for a stream that is about to close: a named caller is not
    /// authorized again, but its stream ends at once.
    pub(crate) fn handle_loss_at_close(&mut self) {
        if self.is_named() {
            self.handle_denied();
        } else {
            self.handle_loss();
        }
    }

    fn is_named(&self) -> bool {
        !self.honored.scope.principals.is_empty()
    }
}
