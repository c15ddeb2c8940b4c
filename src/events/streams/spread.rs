use alloc::{
    sync::Arc,
    vec::{IntoIter, Vec},
};

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
    /// Up to where each stream had everything that was ahead of them.
    ahead: Map<StreamId, SharedPosition>,
    /// What streams get, and which; the next at the end.
    shares: Vec<(Share, IntoIter<Member>)>,
    /// What classes receive, each once.
    selections: Vec<Vec<Selected>>,
    frames: Frames,
    /// The streams that the page is for but has nothing for: they read alone.
    left: Vec<StreamId>,
}

/// A stream, and the number of its request's id.
type Member = (StreamId, u32);

/// What a stream gets of a page, apart from its id: which selection, from which occurrence on, and
/// whether it learns first that it lost something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Share {
    selection: usize,
    first: usize,
    is_gap: bool,
}

impl Spread {
    /// Moves the streams of a type to the end of a page. `results` are the match results of the
    /// server, by the numbers of the classes.
    pub(super) fn new(
        (name, topic): (&EventName, &mut TypeStreams),
        streams: &mut Slab<EventStream>,
        (page, epoch): (Page, Arc<str>),
        results: &[(u32, Vec<MatchResult>)],
    ) -> Self {
        let (classes, selections) = select_by_class(topic, &page, results);
        let end = SharedPosition::new(epoch, page.through);
        let mut spread = Self {
            name: name.clone(),
            page,
            former: None,
            ahead: Map::new(),
            shares: Vec::new(),
            selections,
            frames: Frames::default(),
            left: Vec::new(),
        };
        let mut shares = Map::new();
        spread.move_current(&mut shares, (topic, streams), (&end, &classes));
        spread.move_ahead(&mut shares, (topic, streams), (&end, &classes));
        spread.left.sort_unstable();
        let shares = shares.into_entries();
        spread.shares = shares.map(|(share, it)| (share, it.into_iter())).collect();
        spread.shares.reverse();
        spread
    }

    /// Returns where a stream had everything before the page; `None` if the page moved it nowhere.
    pub(super) fn former(&self, id: StreamId) -> Option<&SharedPosition> {
        self.ahead.get(&id).or(self.former.as_ref())
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
            && let Some((share, mut members)) = self.shares.pop()
        {
            self.write_share(&mut batch, streams, (share, &mut members));
            if members.len() > 0 {
                self.shares.push((share, members));
            }
        }
        batch.writes.sort_unstable();
        (!batch.is_empty()).then_some(batch)
    }

    /// Moves the streams that are current. Those of a class without a selection stay where they
    /// are.
    fn move_current(
        &mut self,
        shares: &mut Map<Share, Vec<Member>>,
        (topic, streams): (&mut TypeStreams, &mut Slab<EventStream>),
        (end, classes): (&SharedPosition, &Map<u32, usize>),
    ) {
        let Some(former) = topic.read_to.clone() else {
            return;
        };
        let reach = former.reach(&self.page);
        if reach == Reach::After {
            return;
        }
        for class in topic.classes.streams_mut() {
            let selection = classes.get(&class.number).copied();
            if let Some(share) = selection.and_then(|it| self.share(it, &former, reach)) {
                let members = class.current.iter().map(|(id, stamp)| (*id, *stamp));
                self.give(shares, share, members);
                continue;
            }
            for (id, _) in core::mem::take(&mut class.current).into_entries() {
                if let Some(stream) = streams.get_mut(id) {
                    stream.state = EventStreamState::At(former.clone());
                }
                self.left.push(id);
            }
        }
        topic.read_to = Some(end.clone());
        self.former = Some(former);
    }

    /// Moves the streams that are ahead: most become current.
    fn move_ahead(
        &mut self,
        shares: &mut Map<Share, Vec<Member>>,
        (topic, streams): (&mut TypeStreams, &mut Slab<EventStream>),
        (end, classes): (&SharedPosition, &Map<u32, usize>),
    ) {
        for id in core::mem::take(&mut topic.ahead).into_keys() {
            let Some(stream) = streams.get_mut(id) else {
                continue;
            };
            let EventStreamState::At(place) = stream.state.clone() else {
                continue;
            };
            let reach = place.reach(&self.page);
            if reach == Reach::After {
                topic.put(stream, place);
                continue;
            }
            let selection = classes.get(&stream.kind).copied();
            let share = selection.and_then(|it| self.share(it, &place, reach));
            if let Some(share) = share {
                self.give(shares, share, core::iter::once((id, stream.stamp)));
                self.ahead.insert(id, place);
                topic.put(stream, end.clone());
            }
            if !topic.has(stream) {
                self.left.push(id);
            }
        }
    }

    /// Returns what a stream gets that has everything up to `place`; `None` if the page cannot
    /// tell.
    fn share(&self, selection: usize, place: &SharedPosition, reach: Reach) -> Option<Share> {
        let is_gap = reach == Reach::Before;
        // A page that begins after what the log has lost is for those who have lost it.
        if is_gap && !self.page.trimmed {
            return None;
        }
        let first = if is_gap || place.position == self.page.from {
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

    /// Adds streams to those that get a share, unless it is nothing.
    fn give(
        &self,
        shares: &mut Map<Share, Vec<Member>>,
        share: Share,
        members: impl Iterator<Item = Member>,
    ) {
        let is_nothing = !share.is_gap && self.selected(share).is_empty();
        if let Some(known) = shares.or_default(share).filter(|_| !is_nothing) {
            known.extend(members);
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

    /// Writes a share for streams until the part is full.
    fn write_share(
        &mut self,
        batch: &mut WriteBatch,
        streams: &Slab<EventStream>,
        (share, members): (Share, &mut IntoIter<Member>),
    ) {
        let mut chunks = ChunkCache::default();
        let first = batch.ends.len();
        batch.writes.reserve(members.len());
        while batch.bytes.len() < BATCH_BYTES
            && let Some((id, stamp)) = members.next()
        {
            let Some(stream) = streams.get(id) else {
                continue;
            };
            let known = chunks.get(stamp).map(|chunk| first + chunk);
            let chunk = known.unwrap_or_else(|| {
                chunks.push(stamp);
                self.write(batch, stream, share)
            });
            batch.writes.push((id, chunk));
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

/// Returns what each class receives, but for those without match results and those that are newer
/// than the query.
fn select_by_class(
    topic: &TypeStreams,
    page: &Page,
    results: &[(u32, Vec<MatchResult>)],
) -> (Map<u32, usize>, Vec<Vec<Selected>>) {
    let expected = topic.classes.iter().map(|(class, _)| &class.expected);
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
