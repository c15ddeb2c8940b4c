use alloc::{sync::Arc, vec::Vec};

use crate::{
    events::{
        matching::{MatchResult, Payloads, Selected, select},
        name::EventName,
        page::Page,
    },
    fanout::{ChunkCache, Slab, StreamId, WriteBatch},
    sorted::Map,
    vocabulary::position::Position,
};

use super::{
    frames::Frames,
    shared_position::{Reach, SharedPosition},
    stream::{EventStream, EventStreamState},
    type_streams::TypeStreams,
};

/// A page on its way to the streams of its event type, a part of them at a time.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) name: EventName,
    page: Page,
    /// Up to where the current streams had everything before; `None` if the page has nothing new
    /// for them.
    former: Option<SharedPosition>,
    /// Up to where each stream that was ahead of them had everything, in the order of their slots.
    ahead: Vec<(StreamId, SharedPosition)>,
    /// What streams get, and which: first one for each selection, then those that differ.
    shares: Vec<(Share, Vec<StreamId>)>,
    /// The share that is written, and how many of its streams had their turn.
    turn: (usize, usize),
    /// What each class receives, by its number; a class without match results is missing, and one
    /// that is newer than the query.
    classes: Map<u32, usize>,
    /// What classes receive, each once.
    selections: Vec<Vec<Selected>>,
    frames: Frames,
    /// The streams that the page is for but has nothing for: they read alone.
    left: Vec<StreamId>,
}

/// What a stream gets of a page, apart from its id: which selection, from which occurrence on, and
/// whether it learns first that it lost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    selection: usize,
    first: usize,
    is_gap: bool,
}

impl Share {
    /// All of a selection, which no stream gets yet.
    fn whole(selection: usize) -> (Self, Vec<StreamId>) {
        let share = Self {
            selection,
            first: 0,
            is_gap: false,
        };
        (share, Vec::new())
    }
}

impl Spread {
    /// Moves the streams of a type to the end of a page. `newest_class` is the newest class for
    /// which the page was read, and `results` are the match results of the server, by the numbers
    /// of the classes.
    pub(super) fn new(
        (name, type_streams): (&EventName, &mut TypeStreams),
        streams: &mut Slab<EventStream>,
        (page, epoch): (Page, Arc<str>),
        newest_class: u32,
        results: &[(u32, Vec<MatchResult>)],
    ) -> Self {
        let (classes, selections) = select_by_class((type_streams, newest_class), &page, results);
        let end = SharedPosition::new(epoch, page.through);
        let mut spread = Self {
            name: name.clone(),
            page,
            former: None,
            ahead: Vec::new(),
            shares: (0..selections.len()).map(Share::whole).collect(),
            turn: (0, 0),
            classes,
            selections,
            frames: Frames::default(),
            left: Vec::new(),
        };
        spread.move_current(type_streams, streams, &end);
        spread.move_ahead(type_streams, streams, &end);
        spread
    }

    /// Returns where a stream had everything before the page; `None` if the page moved it nowhere.
    pub(super) fn former(&self, id: StreamId) -> Option<&SharedPosition> {
        let ahead = self.ahead.binary_search_by_key(&id, |(id, _)| *id);
        let place = ahead.ok().and_then(|place| self.ahead.get(place));
        place.map(|(_, place)| place).or(self.former.as_ref())
    }

    /// Returns the streams that were left behind, once every stream had its turn.
    pub(super) fn into_left(self) -> Vec<StreamId> {
        self.left
    }

    /// Returns the next part; `None` if every stream had its turn. Streams that a part names have
    /// everything up to the end of the page, unless they had no room.
    pub(super) fn batch(&mut self, streams: &Slab<EventStream>) -> Option<WriteBatch> {
        let mut batch = WriteBatch::default();
        while batch.bytes.len() < BATCH_BYTES
            && let Some((share, members)) = self.shares.get_mut(self.turn.0)
        {
            let (share, members) = (*share, core::mem::take(members));
            let rest = members.get(self.turn.1..).unwrap_or_default();
            let written = self.write_share(&mut batch, streams, (share, rest));
            if written == rest.len() {
                self.turn = (self.turn.0 + 1, 0);
            } else if let Some((_, kept)) = self.shares.get_mut(self.turn.0) {
                self.turn.1 += written;
                *kept = members;
            }
        }
        (!batch.is_empty()).then_some(batch)
    }

    /// Moves the streams that are current, but for those whose class the page cannot serve.
    fn move_current(
        &mut self,
        type_streams: &mut TypeStreams,
        streams: &mut Slab<EventStream>,
        end: &SharedPosition,
    ) {
        let Some(former) = type_streams.read_to.clone() else {
            return;
        };
        if former.reach(&self.page) == Reach::After {
            return;
        }
        for class in type_streams.classes.streams_mut() {
            if self.give(class.number, &former, class.current.iter()) {
                continue;
            }
            for id in core::mem::take(&mut class.current).into_keys() {
                if let Some(stream) = streams.get_mut(id) {
                    stream.state = EventStreamState::At(former.clone());
                }
                self.left.push(id);
            }
        }
        type_streams.read_to = Some(end.clone());
        self.former = Some(former);
    }

    /// Moves the streams that are ahead: most become current.
    fn move_ahead(
        &mut self,
        type_streams: &mut TypeStreams,
        streams: &mut Slab<EventStream>,
        end: &SharedPosition,
    ) {
        for id in core::mem::take(&mut type_streams.ahead).into_keys() {
            let Some(stream) = streams.get_mut(id) else {
                continue;
            };
            let EventStreamState::At(place) = stream.state.clone() else {
                continue;
            };
            if place.reach(&self.page) == Reach::After {
                type_streams.put(stream, place);
                continue;
            }
            if self.give(stream.kind, &place, [id].iter()) {
                self.ahead.push((id, place));
                type_streams.put(stream, end.clone());
            }
            if !type_streams.has(stream) {
                self.left.push(id);
            }
        }
    }

    /// Gives the page to streams of a class that have everything up to `place`. Returns false if
    /// it has not what they need.
    fn give<'i>(
        &mut self,
        class: u32,
        place: &SharedPosition,
        ids: impl Iterator<Item = &'i StreamId>,
    ) -> bool {
        let is_gap = place.reach(&self.page) == Reach::Before;
        let Some(selection) = self.classes.get(&class).copied() else {
            return false;
        };
        // A page that begins after what the log has lost is for those who have lost it.
        if is_gap && !self.page.trimmed {
            return false;
        }
        let share = Share {
            selection,
            first: if is_gap {
                0
            } else {
                self.first_after(selection, place.position)
            },
            is_gap,
        };
        if is_gap || !self.selected(share).is_empty() {
            self.add(share, ids);
        }
        true
    }

    /// Adds streams to those that get a share. A share that is not the first of its selection may
    /// be written more than once.
    fn add<'i>(&mut self, share: Share, ids: impl Iterator<Item = &'i StreamId>) {
        let first = self.shares.get(share.selection);
        let is_first = first.is_some_and(|(known, ids)| *known == share || ids.is_empty());
        if !is_first && self.shares.last().is_none_or(|(last, _)| *last != share) {
            self.shares.push((share, Vec::new()));
        }
        let last = self.shares.len() - 1;
        let place = if is_first { share.selection } else { last };
        if let Some((known, members)) = self.shares.get_mut(place) {
            *known = share;
            members.extend(ids);
        }
    }

    fn first_after(&self, selection: usize, position: Position) -> usize {
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

    /// Writes a share for streams until the part is full. Returns how many had their turn.
    fn write_share(
        &mut self,
        batch: &mut WriteBatch,
        streams: &Slab<EventStream>,
        (share, members): (Share, &[StreamId]),
    ) -> usize {
        let mut chunks = ChunkCache::default();
        let first = batch.ends.len();
        batch.writes.reserve(members.len());
        for (count, id) in members.iter().enumerate() {
            if batch.bytes.len() >= BATCH_BYTES {
                return count;
            }
            let Some(stream) = streams.get(*id) else {
                continue;
            };
            let known = chunks.get(stream.id_number).map(|chunk| first + chunk);
            let chunk = known.unwrap_or_else(|| {
                chunks.push(stream.id_number);
                self.write(batch, stream, share)
            });
            batch.writes.push((*id, chunk));
        }
        members.len()
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

/// Returns what each class receives, but for those without match results and those that are newer
/// than the query.
fn select_by_class(
    (type_streams, newest_class): (&TypeStreams, u32),
    page: &Page,
    results: &[(u32, Vec<MatchResult>)],
) -> (Map<u32, usize>, Vec<Vec<Selected>>) {
    let expected = type_streams
        .classes
        .iter()
        .map(|(class, _)| &class.expected);
    let payloads = Payloads::new(page, expected);
    let (mut classes, mut selections) = (Map::default(), Vec::new());
    let mut known: Map<Vec<Selected>, usize> = Map::default();
    let by_class = results.iter().map(|(class, own)| (*class, &own[..]));
    let by_class: Map<u32, &[MatchResult]> = by_class.collect();
    for (class, streams) in type_streams.classes.iter() {
        let number = streams.number;
        if number > newest_class {
            continue;
        }
        let own = by_class.get(&number).copied();
        if class.expected.for_host().is_some() && own.is_none() && !page.events.is_empty() {
            continue;
        }
        let reader = (&class.expected, &class.groups[..]);
        let selected = select(page, &payloads, reader, own.unwrap_or_default());
        let selection = known.get(&selected).copied().unwrap_or_else(|| {
            selections.push(selected.clone());
            known.insert(selected, selections.len() - 1);
            selections.len() - 1
        });
        classes.insert(number, selection);
    }
    (classes, selections)
}

/// A part with this number of bytes is complete, so that the frames of a page for many streams are
/// never all in memory at once.
const BATCH_BYTES: usize = 1_048_576;
