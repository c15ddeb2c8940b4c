use alloc::{boxed::Box, vec::Vec};

use crate::{
    events::name::EventName,
    sorted::Map,
    vocabulary::position::{Cursor, Position},
};

use super::{
    super::super::{SharedWatermark, WebhookStore},
    RetryBackoff, Stored, SubscriptionEntry,
};

/// An event type that has subscriptions.
#[derive(Debug, Default)]
pub(in super::super) struct SubscribedType {
    /// The subscriptions that have not ended.
    pub(in super::super) ids: Vec<Box<str>>,
    /// The end of the log as far as it is known.
    pub(in super::super) head: Option<Cursor>,
    /// Whether the log may have more, whatever `head` says.
    pub(in super::super) is_unread: bool,
    /// When the log may be read, after reads that failed.
    pub(in super::super) reads: RetryBackoff,
    /// The stored watermark of the subscriptions that have received everything.
    pub(in super::super) watermark: Option<Cursor>,
    /// Whether positions may have changed since they were stored.
    pub(in super::super) is_changed: bool,
}

impl SubscribedType {
    /// Whether the log may have more after what a subscription has read.
    pub(in super::super) fn has_more(&self, read: &Cursor) -> bool {
        let is_before = |head: &Cursor| head.epoch != read.epoch || read.position < head.position;
        self.is_unread || self.head.as_ref().is_some_and(is_before)
    }

    /// Notes the end of the log.
    pub(in super::super) fn note_head(&mut self, head: Cursor) {
        let known = self.head.as_ref();
        let known = known.filter(|known| known.epoch == head.epoch);
        if known.is_none_or(|known| known.position < head.position) {
            self.head = Some(head);
        }
    }

    /// Returns the shared watermark for a subscription, if it applies to it.
    pub(in super::super) fn watermark_of(&self, stored: &Stored) -> Option<Position> {
        let watermark = self.watermark.as_ref();
        let watermark = watermark.filter(|watermark| stored.shares(watermark))?;
        Some(watermark.position)
    }

    /// Stores the subscriptions and the watermark, as far as they have changed.
    pub(in super::super) fn flush<S: WebhookStore>(
        &mut self,
        name: &EventName,
        entries: &mut Map<Box<str>, SubscriptionEntry>,
        store: &mut S,
    ) -> Result<(), S::Error> {
        let watermark = self.next_watermark(entries);
        for id in &self.ids {
            if let Some(entry) = entries.get_mut(id) {
                entry.flush(id, watermark.as_ref(), store)?;
            }
        }
        if let Some(cursor) = watermark.filter(|next| self.watermark.as_ref() != Some(next)) {
            store.put_watermark(&SharedWatermark {
                name: name.clone(),
                epoch: cursor.epoch.clone(),
                position: cursor.position,
            })?;
            self.watermark = Some(cursor);
        }
        Ok(())
    }

    /// Returns the watermark with which the fewest subscriptions have to be stored one by one: the
    /// position of most of those that have received everything.
    fn next_watermark(&self, entries: &Map<Box<str>, SubscriptionEntry>) -> Option<Cursor> {
        let former = self.watermark.as_ref();
        let log = self.head.as_ref().or(former)?;
        let Some(position) = self.most_common_position(entries, &log.epoch) else {
            return former.cloned();
        };
        let floor = former.filter(|former| former.epoch == log.epoch);
        let floor = floor.map_or(Position(0), |former| former.position);
        Some(Cursor {
            epoch: log.epoch.clone(),
            position: floor.max(position),
        })
    }

    /// Returns the most common position of the subscriptions that have received everything; of
    /// equally common ones the highest.
    fn most_common_position(
        &self,
        entries: &Map<Box<str>, SubscriptionEntry>,
        epoch: &str,
    ) -> Option<Position> {
        let entries = self.ids.iter().filter_map(|id| entries.get(id));
        let caught_up = entries.filter(|entry| entry.row.progress.is_caught_up());
        let mut positions: Vec<Position> = caught_up
            .map(SubscriptionEntry::cursor)
            .filter(|cursor| *cursor.epoch == *epoch)
            .map(|cursor| cursor.position)
            .collect();
        positions.sort_unstable();
        let groups = positions.chunk_by(|one, other| one == other);
        groups.max_by_key(|group| group.len())?.first().copied()
    }
}
