use alloc::{sync::Arc, vec::Vec};

use crate::{
    events::{
        matching::{Payloads, Pick, Verdict, picks},
        name::EventName,
        page::Page,
    },
    fanout::{Slab, WriteBatch},
    sorted::Map,
    vocabulary::position::Position,
};

use super::{
    frames::Frames,
    place::Place,
    shares::{Share, Shares},
    stream::Stream,
    topic::Topic,
};

/// A page on its way to the streams of its event type, a part of them at a time.
#[derive(Debug)]
pub(super) struct Spread {
    name: EventName,
    page: Page,
    epoch: Arc<str>,
    /// What each class receives, by number; a class that was not judged is missing.
    classes: Map<u32, usize>,
    /// What classes receive, each once.
    selections: Vec<Vec<Pick>>,
    frames: Frames,
    /// The slots of the streams to go, in order.
    slots: alloc::vec::IntoIter<u32>,
}

impl Spread {
    /// `judged` are the verdicts of the server, by the numbers of the classes.
    pub(super) fn new(
        (name, topic): (&EventName, &Topic),
        page: Page,
        epoch: Arc<str>,
        judged: &[(u32, Vec<Verdict>)],
    ) -> Self {
        let (classes, selections) = selected(topic, &page, judged);
        let slots: Vec<u32> = topic.slots.iter().copied().collect();
        Self {
            name: name.clone(),
            page,
            epoch,
            classes,
            selections,
            frames: Frames::default(),
            slots: slots.into_iter(),
        }
    }

    /// Returns the next part, number `batch`; `None` if every stream had its turn. Streams that a
    /// part names have everything up to the end of the page, unless they had no room.
    pub(super) fn batch(&mut self, streams: &mut Slab<Stream>, number: u64) -> Option<WriteBatch> {
        let mut batch = WriteBatch::default();
        let mut chunks = Shares::default();
        while batch.bytes.len() < BATCH_BYTES {
            let Some(slot) = self.slots.next() else {
                break;
            };
            let Some(stream) = streams.at_mut(slot).filter(|held| held.name == self.name) else {
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

    /// Returns what a stream gets; `None` if it is behind the page or beyond it.
    fn share(&self, stream: &Stream) -> Option<Share> {
        let place = &stream.progress()?.place;
        let selection = *self.classes.get(&stream.kind)?;
        let is_of_epoch = place.is_of(&self.epoch);
        if is_of_epoch && place.position >= self.page.from {
            let is_new = place.position < self.page.through;
            return is_new.then(|| Share {
                selection,
                first: self.first_after(selection, place.position),
                is_gap: false,
            });
        }
        // The page begins after what the log has lost, so a stream that is not there has lost it.
        let is_gap = self.page.trimmed;
        is_gap.then_some(Share {
            selection,
            first: 0,
            is_gap,
        })
    }

    fn first_after(&self, selection: usize, position: Position) -> usize {
        if position == self.page.from {
            return 0;
        }
        let is_before = |pick: &Pick| {
            let event = self.page.events.get(pick.place());
            event.is_some_and(|event| event.position <= position)
        };
        let picks = self.selections.get(selection);
        picks.map_or(0, |picks| picks.partition_point(is_before))
    }

    fn picks(&self, share: Share) -> &[Pick] {
        let picks = self.selections.get(share.selection);
        picks
            .and_then(|picks| picks.get(share.first..))
            .unwrap_or_default()
    }

    fn is_nothing(&self, share: Share) -> bool {
        !share.is_gap && self.picks(share).is_empty()
    }

    fn advance(&self, stream: &mut Stream, number: u64) {
        let place = Place::new(self.epoch.clone(), self.page.through);
        if let Some(progress) = stream.progress_mut() {
            progress.advance(place, Some(number));
        }
    }

    fn write(&mut self, batch: &mut WriteBatch, stream: &Stream, share: Share) -> usize {
        if share.is_gap {
            batch.bytes.extend(stream.active(&self.page, true));
        }
        let picks = self.selections.get(share.selection);
        let picks = picks.and_then(|picks| picks.get(share.first..));
        self.frames.push(
            &mut batch.bytes,
            &stream.request,
            (&self.name, &self.page),
            picks.unwrap_or_default(),
        );
        batch.end_chunk()
    }
}

/// Returns what each class receives.
fn selected(
    topic: &Topic,
    page: &Page,
    judged: &[(u32, Vec<Verdict>)],
) -> (Map<u32, usize>, Vec<Vec<Pick>>) {
    let expected = topic.classes.iter().map(|(_, class)| &class.expected);
    let payloads = Payloads::new(page, expected);
    let (mut classes, mut selections) = (Map::default(), Vec::new());
    let mut known: Map<Vec<Pick>, usize> = Map::default();
    for (number, class) in topic.classes.iter() {
        let verdicts = judged.iter().find(|(of, _)| *of == number);
        if class.expected.for_host().is_some() && verdicts.is_none() && !page.events.is_empty() {
            continue;
        }
        let verdicts = verdicts.map_or(&[][..], |(_, verdicts)| verdicts);
        let reader = (&class.expected, &class.groups[..]);
        let picks = picks(page, &payloads, reader, verdicts);
        let selection = known.get(&picks).copied().unwrap_or_else(|| {
            selections.push(picks.clone());
            known.insert(picks, selections.len() - 1);
            selections.len() - 1
        });
        classes.insert(number, selection);
    }
    (classes, selections)
}

/// Bytes of one part, after which the next begins: what a page is for many streams is never in
/// memory at once.
const BATCH_BYTES: usize = 1_048_576;
