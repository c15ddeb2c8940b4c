use alloc::vec::Vec;

use super::{StreamId, WriteBatch};

/// Groups the frames of several events by stream: streams with the same kind that receive the same
/// events share one chunk.
///
/// It is a tree. A node stands for its parent's frames and one more; streams at the same node get
/// the same bytes. The children of the root are the kinds. Events are pushed one after another, so
/// only the latest child of a node can match.
#[derive(Debug)]
pub(super) struct BatchTree {
    nodes: Vec<Node>,
    /// The node of each kind, by its number.
    by_kind: Vec<usize>,
    /// The node of each stream, by its slot; the root for a stream without events.
    places: Vec<usize>,
    /// The slots of the streams that have a node.
    streams: Vec<u32>,
    /// The bytes of all chunks.
    bytes: usize,
}

#[derive(Debug, Default)]
struct Node {
    parent: usize,
    frame: Vec<u8>,
    latest: Option<Child>,
    /// The bytes of its chunk.
    bytes: usize,
    /// The number of streams at it; 0 for a kind.
    streams: usize,
}

#[derive(Clone, Copy, Debug)]
struct Child {
    event: usize,
    node: usize,
}

impl BatchTree {
    /// Creates a tree for streams whose slots are below `slot_count`. `places` are those that an
    /// earlier tree has returned, or empty: to clear one for each stream would cost a publish what
    /// it does not reach.
    pub(super) fn new(mut places: Vec<usize>, slot_count: usize) -> Self {
        places.resize(slot_count, ROOT);
        Self {
            nodes: vec![Node::default()],
            by_kind: Vec::new(),
            places,
            streams: Vec::new(),
            bytes: 0,
        }
    }

    /// Returns the bytes of all chunks.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds an event for a stream of a kind. Event numbers ascend; `write` appends the frame.
    pub(super) fn push(
        &mut self,
        slot: u32,
        kind: u32,
        event: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let place = self.places.get(slot as usize).copied().unwrap_or(ROOT);
        let from = if place == ROOT {
            self.streams.push(slot);
            self.of_kind(kind as usize)
        } else {
            place
        };
        let to = self.child(from, event, write);
        self.count(from, to);
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = to;
        }
    }

    /// Returns the chunks and which stream gets which, and the places for the next tree; `id_at`
    /// returns the stream of a slot.
    pub(super) fn into_batch(
        mut self,
        id_at: impl Fn(u32) -> Option<StreamId>,
    ) -> (WriteBatch, Vec<usize>) {
        self.streams.sort_unstable();
        let mut batch = WriteBatch::default();
        batch.bytes.reserve_exact(self.bytes);
        let mut chunks = vec![None; self.nodes.len()];
        let mut places = core::mem::take(&mut self.places);
        for slot in &self.streams {
            let Some(place) = places.get_mut(*slot as usize) else {
                continue;
            };
            let at = core::mem::replace(place, ROOT);
            let Some(chunk) = chunks.get_mut(at) else {
                continue;
            };
            let chunk = *chunk.get_or_insert_with(|| {
                self.push_path(&mut batch.bytes, at);
                batch.end_chunk()
            });
            batch.writes.extend(id_at(*slot).map(|id| (id, chunk)));
        }
        (batch, places)
    }

    fn of_kind(&mut self, kind: usize) -> usize {
        if kind >= self.by_kind.len() {
            self.by_kind.resize(kind + 1, ROOT);
        }
        let known = self.by_kind.get(kind).copied().unwrap_or(ROOT);
        if known != ROOT {
            return known;
        }
        let node = self.add(ROOT, Vec::new());
        if let Some(place) = self.by_kind.get_mut(kind) {
            *place = node;
        }
        node
    }

    fn child(&mut self, parent: usize, event: usize, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        let latest = self.nodes.get(parent).and_then(|parent| parent.latest);
        if let Some(child) = latest.filter(|child| child.event == event) {
            return child.node;
        }
        let mut frame = Vec::new();
        write(&mut frame);
        let node = self.add(parent, frame);
        if let Some(parent) = self.nodes.get_mut(parent) {
            parent.latest = Some(Child { event, node });
        }
        node
    }

    /// Counts that a stream is at another node.
    fn count(&mut self, from: usize, to: usize) {
        if let Some(node) = self.nodes.get_mut(from) {
            node.streams = node.streams.saturating_sub(1);
            if node.streams == 0 {
                self.bytes -= node.bytes;
            }
        }
        if let Some(node) = self.nodes.get_mut(to) {
            if node.streams == 0 {
                self.bytes += node.bytes;
            }
            node.streams += 1;
        }
    }

    fn add(&mut self, parent: usize, frame: Vec<u8>) -> usize {
        let before = self.nodes.get(parent).map_or(0, |parent| parent.bytes);
        self.nodes.push(Node {
            parent,
            bytes: before + frame.len(),
            frame,
            ..Node::default()
        });
        self.nodes.len() - 1
    }

    fn push_path(&self, bytes: &mut Vec<u8>, mut at: usize) {
        let mut frames = Vec::new();
        while at != ROOT
            && let Some(node) = self.nodes.get(at)
        {
            frames.push(&node.frame);
            at = node.parent;
        }
        for frame in frames.into_iter().rev() {
            bytes.extend_from_slice(frame);
        }
    }
}

/// The index of the root, which stands for no node.
const ROOT: usize = 0;
