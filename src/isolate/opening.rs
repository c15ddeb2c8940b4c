use crate::{
    clock::Millis,
    fanout::StreamId,
    listen::ServerStream,
    vocabulary::{filter::SubscriptionFilter, position::Cursor, scope::Scope, topic::Topics},
};

use super::{Isolate, output::IsolateStep};

/// The opening of streams, the groups of their callers, and moves for lack of room.
impl Isolate {
    /// Adds a stream. It receives nothing until the bus has confirmed all of its topics: see
    /// [`IsolateOutput::Poll`](super::IsolateOutput::Poll). A stream that honors nothing has
    /// nothing to wait for and ends at once.
    pub fn open(&mut self, stream: ServerStream, now: Millis) -> StreamId {
        if stream.honored().is_empty() {
            let id = self.fanout.open(stream, now);
            self.lease.enter(id);
            self.steps.push_back(IsolateStep::Finished(id));
            return id;
        }
        if self.fanout.index().is_empty() {
            self.upstream.begin();
        }
        let topics = stream.honored().topics();
        let id = self.fanout.open_waiting(stream);
        self.lease.enter(id);
        self.upstream.want(&topics);
        if !self.serve(id) {
            self.waiting.insert(id);
            self.upstream.retry_now(now);
        }
        id
    }

    /// Adds a stream from another isolate that has received every event up to `since`. It is alone
    /// here and misses nothing. `random` is drawn from [0, 1): if many streams move, they attach
    /// spread over two seconds.
    pub fn adopt(
        &mut self,
        stream: ServerStream,
        since: Option<Cursor>,
        now: Millis,
        random: f64,
    ) -> StreamId {
        match since {
            Some(since) => self.upstream.begin_since(since, now, random),
            None => self.upstream.begin(),
        }
        self.upstream.want(&stream.honored().topics());
        let id = self.fanout.open(stream, now);
        self.lease.enter(id);
        id
    }

    /// Whether the bus has room for one more stream with this filter, as far as is known. If it has
    /// none, the isolate asks the bus again.
    pub fn has_room_for(&mut self, honored: &SubscriptionFilter, now: Millis) -> bool {
        let index = self.fanout.index();
        self.upstream.has_room_for(&honored.topics(), now, index)
    }

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

    pub(super) fn serve_waiting(&mut self) {
        for id in self.waiting.take() {
            if !self.serve(id) {
                self.waiting.insert(id);
            }
        }
    }

    /// Attaches a stream if the bus has confirmed all of its topics.
    fn serve(&mut self, id: StreamId) -> bool {
        let Some(honored) = self.honored(id) else {
            return true;
        };
        if !self.upstream.follows(&honored.topics()) {
            return false;
        }
        let from = self.upstream.reached();
        self.steps.push_back(IsolateStep::Attached(id, from));
        true
    }

    pub(super) fn refuse_waiting(&mut self) {
        for id in self.waiting.take() {
            self.refuse(id, false);
        }
    }

    /// Refuses a stream that waits.
    pub(super) fn refuse(&mut self, id: StreamId, is_full: bool) {
        self.waiting.remove(id);
        self.steps.push_back(IsolateStep::Refused { id, is_full });
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
