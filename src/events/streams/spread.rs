use alloc::{sync::Arc, vec::Vec};

use crate::{
    events::{
        matching::{MatchResult, Payloads, Selected, select},
        name::EventName,
        page::Page,
    },
    fanout::{Slab, StreamId, WriteBatch},
    sorted::Map,
    vocabulary::position::Position,
};

use super::{
    frames::Frames,
    shared_position::SharedPosition,
    shares::{Share, Shares},
    stream::EventStream,
    type_streams::TypeStreams,
};

/// A page on its way to the streams of its event type, a part of them at a time.
#[derive(Debug)]
pub(super) struct Spread {
    name: EventName,
    page: Page,
    epoch: Arc<str>,
    /// What each class receives, by number; a class without match results is missing, and one
    /// that is newer than the query.
    classes: Map<u32, usize>,
    /// What classes receive, each once.
    selections: Vec<Vec<Selected>>,
    frames: Frames,
    /// The class of the last stream, and what it receives: most streams are of one class.
    latest: Option<(u32, usize)>,
    /// The streams to go, in the order of their slots.
    ids: alloc::vec::IntoIter<StreamId>,
    /// The streams whose class is missing, although the page is for them.
    left: Vec<StreamId>,
}

impl Spread {
    /// `results` are the match results of the server, by the numbers of the classes.
    pub(super) fn new(
        (name, topic): (&EventName, &TypeStreams),
        page: Page,
        epoch: Arc<str>,
        results: &[(u32, Vec<MatchResult>)],
    ) -> Self {
        let (classes, selections) = select_by_class(topic, &page, results);
        let ids: Vec<StreamId> = topic.streams.iter().copied().collect();
        Self {
            name: name.clone(),
            page,
            epoch,
            classes,
            selections,
            frames: Frames::default(),
            latest: None,
            ids: ids.into_iter(),
            left: Vec::new(),
        }
    }

    /// Returns the streams that were left behind, once every stream had its turn.
    pub(super) fn into_left(self) -> Vec<StreamId> {
        self.left
    }

    /// Returns the next part, number `batch`; `None` if every stream had its turn. Streams that a
    /// part names have everything up to the end of the page, unless they had no room.
    pub(super) fn batch(
        &mut self,
        streams: &mut Slab<EventStream>,
        number: u64,
    ) -> Option<WriteBatch> {
        let mut batch = WriteBatch::default();
        batch.writes.reserve(self.ids.len());
        let mut chunks = Shares::default();
        while batch.bytes.len() < BATCH_BYTES {
            let Some(id) = self.ids.next() else {
                break;
            };
            let Some(stream) = streams.get_mut(id) else {
                continue;
            };
            let Some(share) = self.share(stream) else {
                continue;
            };
            self.advance(stream, number);
            if self.is_nothing(share) {
                continue;
            }
            let known = chunks.get(stream.stamp, share);
            let chunk = known.unwrap_or_else(|| self.write(&mut batch, stream, share));
            if known.is_none() {
                chunks.insert(stream.stamp, share, chunk);
            }
            batch.writes.push((stream.id, chunk));
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Returns what a stream gets; `None` if it is behind the page or beyond it, or is left behind.
    fn share(&mut self, stream: &EventStream) -> Option<Share> {
        let place = &stream.progress()?.place;
        let is_next = place.is_of(&self.epoch) && place.position >= self.page.from;
        // The page begins after what the log has lost, so a stream that is not there has lost it.
        let is_gap = !is_next && self.page.trimmed;
        let is_new = is_next && place.position < self.page.through;
        if !is_gap && !is_new {
            return None;
        }
        let Some(selection) = self.selection_of(stream.kind) else {
            self.left.push(stream.id);
            return None;
        };
        let first = if is_gap {
            0
        } else {
            self.first_after(selection, place.position)
        };
        Some(Share {
            selection,
            first,
            is_gap,
        })
    }

    /// Returns what a class receives.
    fn selection_of(&mut self, class: u32) -> Option<usize> {
        if let Some((_, selection)) = self.latest.filter(|(latest, _)| *latest == class) {
            return Some(selection);
        }
        let selection = *self.classes.get(&class)?;
        self.latest = Some((class, selection));
        Some(selection)
    }

    fn first_after(&self, selection: usize, position: Position) -> usize {
        if position == self.page.from {
            return 0;
        }
        let is_before = |item: &Selected| {
            let event = self.page.events.get(item.place());
            event.is_some_and(|event| event.position <= position)
        };
        let selected = self.selections.get(selection);
        selected.map_or(0, |selected| selected.partition_point(is_before))
    }

    fn selected(&self, share: Share) -> &[Selected] {
        let selected = self.selections.get(share.selection);
        selected
            .and_then(|selected| selected.get(share.first..))
            .unwrap_or_default()
    }

    fn is_nothing(&self, share: Share) -> bool {
        !share.is_gap && self.selected(share).is_empty()
    }

    fn advance(&self, stream: &mut EventStream, number: u64) {
        let place = SharedPosition::new(self.epoch.clone(), self.page.through);
        if let Some(progress) = stream.progress_mut() {
            progress.advance(place, Some(number));
        }
    }

    fn write(&mut self, batch: &mut WriteBatch, stream: &EventStream, share: Share) -> usize {
        if share.is_gap {
            batch.bytes.extend(stream.active(&self.page, true));
        }
        let selected = self.selections.get(share.selection);
        let selected = selected.and_then(|selected| selected.get(share.first..));
        self.frames.push(
            &mut batch.bytes,
            &stream.request,
            (&self.name, &self.page),
            selected.unwrap_or_default(),
        );
        batch.end_chunk()
    }
}

/// Returns what each class receives.
fn select_by_class(
    topic: &TypeStreams,
    page: &Page,
    results: &[(u32, Vec<MatchResult>)],
) -> (Map<u32, usize>, Vec<Vec<Selected>>) {
    let expected = topic.classes.iter().map(|(_, class)| &class.expected);
    let payloads = Payloads::new(page, expected);
    let (mut classes, mut selections) = (Map::default(), Vec::new());
    let mut known: Map<Vec<Selected>, usize> = Map::default();
    for (number, class) in topic.classes.asked() {
        let own = results.iter().find(|(of, _)| *of == number);
        if class.expected.for_host().is_some() && own.is_none() && !page.events.is_empty() {
            continue;
        }
        let own = own.map_or(&[][..], |(_, own)| own);
        let reader = (&class.expected, &class.groups[..]);
        let selected = select(page, &payloads, reader, own);
        let selection = known.get(&selected).copied().unwrap_or_else(|| {
            selections.push(selected.clone());
            known.insert(selected, selections.len() - 1);
            selections.len() - 1
        });
        classes.insert(number, selection);
    }
    (classes, selections)
}

/// Bytes of one part, after which the next begins: what a page is for many streams is never in
/// memory at once.
const BATCH_BYTES: usize = 1_048_576;
