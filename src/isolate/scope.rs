use crate::{
    clock::Millis,
    fanout::StreamId,
    vocabulary::{filter::SubscriptionFilter, scope::Scope, topic::Topics},
};

use super::{Isolate, output::IsolateStep};

impl Isolate {
    /// Changes the groups of a stream's caller. The stream keeps receiving what it received
    /// before, and receives events for new groups from now on, even if the bus learns of them
    /// later.
    pub fn handle_scope(&mut self, id: StreamId, scope: Scope, now: Millis) {
        let Some(former) = self.honored(id) else {
            return;
        };
        let wanted = SubscriptionFilter {
            scope: scope.clone(),
            ..SubscriptionFilter::clone(&former)
        };
        // On its own connection there may be room for the new groups.
        let is_shared = self.fanout.len() > 1;
        if is_shared && !self.has_room_for(&wanted, now) {
            let since = self.upstream.resume();
            self.steps.push_back(IsolateStep::MoveOut {
                id,
                since,
                scope: Some(scope),
            });
            return;
        }
        self.upstream.scope_session(&scope);
        self.fanout.handle_scope(id, scope);
        let (held, topics) = (set_of(&former), set_of(&wanted));
        let (added, dropped) = (topics.without(&held), held.without(&topics));
        self.upstream.want(&added);
        self.release(&dropped);
        if !(added.is_empty() && dropped.is_empty()) {
            self.upstream.handle_scope(now);
        }
    }

    /// Moves a stream to its own connection, where it continues from here.
    pub(super) fn move_out(&mut self, id: StreamId) {
        let since = self.upstream.resume();
        let scope = None;
        self.steps
            .push_back(IsolateStep::MoveOut { id, since, scope });
    }
}

fn set_of(filter: &SubscriptionFilter) -> Topics {
    filter.topics().into_iter().collect()
}
