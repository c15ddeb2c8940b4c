use std::collections::BTreeMap;

use super::{Fan, StreamId};

/// What several events come to for each stream: streams of one stamp that hear the same of them share one chunk.
///
/// It is a tree. A node is what its parent is and one frame more; streams that stand at the same node get the same bytes.
#[derive(Debug)]
pub(super) struct Bundles {
    nodes: Vec<Node>,
    children: BTreeMap<(usize, Step), usize>,
    /// Where each stream stands, by its number.
    places: Vec<usize>,
    streams: Vec<StreamId>,
}

#[derive(Debug)]
struct Node {
    parent: usize,
    frame: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Group(u32),
    Event(usize),
}

impl Bundles {
    /// Bundles for streams whose numbers are below `most`.
    pub(super) fn new(most: usize) -> Self {
        Self {
            nodes: vec![Node {
                parent: ROOT,
                frame: Vec::new(),
            }],
            children: BTreeMap::new(),
            places: vec![ROOT; most],
            streams: Vec::new(),
        }
    }

    /// A stream of a group hears one event more; `write` appends the frame.
    pub(super) fn push(
        &mut self,
        id: StreamId,
        group: u32,
        event: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let place = self.places.get(id.0 as usize).copied().unwrap_or(ROOT);
        let from = if place == ROOT {
            self.streams.push(id);
            self.child(ROOT, Step::Group(group), |_| {})
        } else {
            place
        };
        let to = self.child(from, Step::Event(event), write);
        if let Some(place) = self.places.get_mut(id.0 as usize) {
            *place = to;
        }
    }

    /// The chunks, and who gets them.
    pub(super) fn fan(mut self) -> Fan {
        self.streams.sort_unstable();
        let mut fan = Fan::default();
        let mut chunks = vec![None; self.nodes.len()];
        for id in &self.streams {
            let at = self.places.get(id.0 as usize).copied().unwrap_or(ROOT);
            let Some(chunk) = chunks.get_mut(at) else {
                continue;
            };
            let chunk = *chunk.get_or_insert_with(|| {
                self.push_path(&mut fan.bytes, at);
                fan.end_chunk()
            });
            fan.writes.push((*id, chunk));
        }
        fan
    }

    fn child(&mut self, parent: usize, step: Step, write: impl FnOnce(&mut Vec<u8>)) -> usize {
        if let Some(child) = self.children.get(&(parent, step)) {
            return *child;
        }
        let child = self.nodes.len();
        let mut frame = Vec::new();
        write(&mut frame);
        self.nodes.push(Node { parent, frame });
        self.children.insert((parent, step), child);
        child
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

const ROOT: usize = 0;
