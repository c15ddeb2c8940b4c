use alloc::boxed::Box;
use alloc::sync::Arc;

use crate::{
    clock::Millis,
    vocabulary::{
        filter::SubscriptionFilter,
        scope::{Label, Scope},
    },
};

use super::{ServerStream, ending::Ending};

/// What the caller of a stream was allowed, which holds for a while.
#[derive(Debug)]
pub(crate) struct Grant {
    span: Millis,
    until: Millis,
    question: Question,
    /// The answer to the question that is asked is too old when it comes.
    is_doubted: bool,
}

/// Whether the caller may still hear what it was promised.
#[derive(Debug)]
enum Question {
    /// Nobody has to know: nothing waits, or the grant holds.
    None,
    /// Something waits for the answer.
    Due,
    /// Somebody is asked about this filter.
    Asked(Arc<SubscriptionFilter>),
}

impl Grant {
    /// Whether it is too old for a cue to leave.
    fn is_stale(&self, now: Millis) -> bool {
        self.until <= now
    }
}

/// Whether the caller of a stream may still hear what it was promised when a cue is about to leave.
impl ServerStream {
    /// What the caller is allowed now holds for `span`. When it is older, no cue leaves before somebody has answered
    /// [`ServerStream::poll_question`]; zero: it holds for ever.
    pub fn grant_for(&mut self, span: impl Into<Millis>, now: Millis) {
        let span = span.into();
        self.grant = (span > Millis(0)).then(|| {
            Box::new(Grant {
                span,
                until: now + span,
                question: Question::None,
                is_doubted: false,
            })
        });
    }

    /// Makes the grant stale: the caller is authorized again before the next cue leaves. False
    /// without a grant.
    pub(crate) fn renew_grant(&mut self) -> bool {
        let Some(grant) = &mut self.grant else {
            return false;
        };
        grant.until = Millis(0);
        grant.is_doubted = matches!(grant.question, Question::Asked(_));
        true
    }

    /// The filter of which somebody has to say whether the caller may still hear it: a cue waits for the answer, which is
    /// [`ServerStream::handle_granted`] or [`ServerStream::handle_denied`]. There is one question at a time.
    pub fn poll_question(&mut self) -> Option<Arc<SubscriptionFilter>> {
        let honored = &self.honored;
        let grant = self.grant.as_mut()?;
        matches!(grant.question, Question::Due).then(|| {
            grant.question = Question::Asked(honored.clone());
            honored.clone()
        })
    }

    /// The caller may hear what `allowed` names. A stream that has promised more ends at once and without a result:
    /// its client asks anew, and is promised what it may hear.
    pub fn handle_granted(&mut self, allowed: &SubscriptionFilter, now: Millis) {
        let Some(grant) = &mut self.grant else {
            return;
        };
        let Question::Asked(asked) = core::mem::replace(&mut grant.question, Question::None) else {
            return;
        };
        let is_doubted = core::mem::take(&mut grant.is_doubted);
        grant.until = if is_doubted {
            Millis(0)
        } else {
            now + grant.span
        };
        if !asked.is_subset_of(allowed) {
            self.handle_denied();
        }
    }

    /// The caller may hear nothing any more, or nobody can say that it may: the stream ends at once and without a
    /// result, and what waits is not said.
    pub fn handle_denied(&mut self) {
        self.abort_for(Ending::Denied);
    }

    /// Ends the stream at once and without a result, where its host waits for it no longer: as
    /// [`ServerStream::handle_denied`] where it waits for an answer, and otherwise as
    /// [`ServerStream::abort`].
    pub fn give_up(&mut self) {
        if self.is_asking() {
            self.handle_denied();
        } else {
            self.abort();
        }
    }

    /// Whether no cue may leave now.
    pub(crate) fn is_withheld(&self, now: Millis) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| grant.is_stale(now))
    }

    /// Whether a cue waits for an answer, and not for its reader.
    pub fn is_asking(&self) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| !matches!(grant.question, Question::None))
    }

    /// A cue would leave now; the answer is whether it has to wait for a question to be answered.
    pub(crate) fn withhold(&mut self, now: Millis) -> bool {
        if !self.is_withheld(now) || self.is_held || self.pending_cues() == 0 {
            return false;
        }
        if let Some(grant) = &mut self.grant
            && matches!(grant.question, Question::None)
        {
            grant.question = Question::Due;
        }
        // There is room: what it waits for is not its reader.
        self.lifetime.handle_taken();
        true
    }

    /// The scope of the caller where it has audiences in `allowed` that the stream does not receive yet: whoever holds the stream
    /// registers it again, with these. `None`: the stream has all, or it is closing.
    pub fn wider_scope(&self, allowed: &SubscriptionFilter) -> Option<Scope> {
        let scope = &self.honored.scope;
        let audiences = &allowed.scope.audiences;
        let has_all = audiences.iter().all(|name| scope.audiences.contains(name));
        (self.is_open() && !has_all).then(|| Scope {
            audiences: audiences.clone(),
            ..scope.clone()
        })
    }

    /// What the caller hears of what is not for everybody. To be said before the stream is registered anywhere.
    pub fn scope_to(&mut self, scope: Scope) {
        let honored = SubscriptionFilter::clone(&self.honored);
        self.honored = Arc::new(SubscriptionFilter { scope, ..honored });
    }

    /// A caller may hear nothing any more: where it is this one, the stream ends at once and without a result.
    pub(crate) fn handle_revoked(&mut self, principal: &Label) {
        if self.honored.scope.principals.contains(principal) {
            self.abort_for(Ending::Denied);
        }
    }
}
