use crate::{event::ServerEvent, filter::SubscriptionFilter, listen::concerns};

use super::{end::End, pending::Pending, subscription::Output};

/// What a subscription has to tell its owner: that it is open, what changed, and how it ended, in this order.
#[derive(Debug)]
pub(super) struct Told {
    acknowledged: Option<SubscriptionFilter>,
    pending: Pending,
    end: Option<End>,
    /// Until then changes wait, and what is not honored in the end is dropped.
    is_open: bool,
    most_parts: usize,
}

impl Told {
    /// Of a subscription that may come to honor this. For what `most_parts` says, see [`Pending`].
    pub(super) fn new(expected: SubscriptionFilter, most_parts: usize) -> Self {
        Self {
            acknowledged: None,
            pending: Pending::new(expected, most_parts),
            end: None,
            is_open: false,
            most_parts,
        }
    }

    /// It is open. What was told before is told after.
    pub(super) fn open(&mut self, honored: SubscriptionFilter) {
        let fresh = Pending::new(honored.clone(), self.most_parts);
        let mut held = core::mem::replace(&mut self.pending, fresh);
        while let Some(event) = held.pop() {
            if concerns(&honored, &event) {
                self.pending.push(&event);
            }
        }
        self.acknowledged = Some(honored);
        self.is_open = true;
    }

    /// Something that it honors changed.
    pub(super) fn push(&mut self, event: &ServerEvent) {
        self.pending.push(event);
    }

    /// Something may have been missed: tells all that is honored once.
    pub(super) fn push_all(&mut self) {
        self.pending.push_all();
    }

    /// It has ended; what changed before is told before.
    pub(super) fn end(&mut self, end: End) {
        self.end = Some(end);
    }

    /// Nothing is told any more.
    pub(super) fn clear(&mut self) {
        *self = Self::new(SubscriptionFilter::default(), 0);
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    pub(super) fn poll(&mut self) -> Option<Output> {
        let acknowledged = self.acknowledged.take().map(Output::Acknowledged);
        let changed = |told: &mut Self| told.is_open.then(|| told.pending.pop()).flatten();
        acknowledged
            .or_else(|| changed(self).map(Output::Changed))
            .or_else(|| self.end.take().map(Output::Ended))
    }
}
