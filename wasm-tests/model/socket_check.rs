use std::collections::BTreeSet;

use mcp_listen::{
    position::Position,
    topic::Topic,
    uri::Uri,
    wire::{Batch, BusMessage, EdgeMessage, Follow, FollowResponse, Followed},
};

use crate::invariant::{Violation, ensure};

/// Observes the bus's end of one socket. Edges recover from much that a bus must never send.
#[derive(Debug, Default)]
pub(crate) struct SocketCheck {
    /// The number of the last follow.
    seq: Option<u64>,
    /// The last follow, while it has no reply.
    awaited: Option<Awaited>,
    topics: BTreeSet<Topic>,
    /// The resources of the session whose stream the edge holds.
    resources: BTreeSet<Topic>,
    /// The position that the edge has reached; `None` before the first reply.
    last: Option<Position>,
}

#[derive(Debug)]
enum Awaited {
    Fresh,
    /// A change, and the topics that it adds.
    Change(Vec<Topic>),
}

impl SocketCheck {
    /// A frame of the edge arrives.
    pub(crate) fn receive(&mut self, text: &str) {
        let Ok(EdgeMessage::Follow(follow)) = EdgeMessage::from_json(text) else {
            return;
        };
        let is_late = self.seq.is_some_and(|seq| follow.seq <= seq);
        let may_change = self.last.is_some() && !self.is_beginning();
        if is_late || !(follow.is_fresh || may_change) {
            return;
        }
        let Follow { add, drop, .. } = follow;
        self.seq = Some(follow.seq);
        if follow.is_fresh {
            self.topics = add.into_iter().collect();
            self.resources.clear();
            self.awaited = Some(Awaited::Fresh);
            return;
        }
        for topic in &drop {
            self.topics.remove(topic);
        }
        let new = add.into_iter();
        let new: Vec<Topic> = new.filter(|it| self.topics.insert(it.clone())).collect();
        self.awaited = Some(Awaited::Change(new));
    }

    /// A frame is sent to the edge, which may not be able to detect gaps.
    pub(crate) fn send(&mut self, text: &str, is_blind: bool) -> Result<(), Violation> {
        let understood = match BusMessage::from_json(text) {
            Ok(BusMessage::Response(response)) => self.respond(response),
            Ok(BusMessage::Batch(batch)) => self.deliver(&batch, is_blind),
            Ok(BusMessage::SessionInterest { uris, .. }) => {
                self.resources = topics_of(&uris);
                return Ok(());
            }
            Ok(_) => check(FRAMES, false),
            Err(error) => Err((FRAMES, error.code().to_owned())),
        };
        understood.map_err(|(promise, how)| Violation::new(promise, format!("{how}: {text}")))
    }

    fn respond(&mut self, response: FollowResponse) -> Checked {
        let is_last = |seq| self.seq == Some(seq);
        match response {
            FollowResponse::Followed(followed) => {
                let is_awaited = is_last(followed.seq) && self.awaited.take().is_some();
                let Followed {
                    missed, interests, ..
                } = followed;
                if let Some(missed) = missed {
                    self.last = Some(missed.after);
                }
                for interest in interests {
                    self.resources = topics_of(&interest.uris);
                }
                check(REPLIES, is_awaited)
            }
            FollowResponse::Full { seq, .. } => {
                let is_of_last = is_last(seq);
                let Some(Awaited::Change(refused)) = self.awaited.take() else {
                    return check(REPLIES, false);
                };
                for topic in refused {
                    self.topics.remove(&topic);
                }
                check(REPLIES, is_of_last)
            }
            FollowResponse::Stale { seq } => check(REPLIES, is_last(seq)),
            _ => check(FRAMES, false),
        }
    }

    fn deliver(&mut self, batch: &Batch, is_blind: bool) -> Checked {
        check("no event is sent before the reply", !self.is_beginning())?;
        let Some(mut reached) = self.last else {
            return check("no event is sent before the reply", false);
        };
        let is_next = is_blind || batch.previous == Some(reached);
        check("a batch names the position of the one before it", is_next)?;
        for (position, event) in &batch.events {
            check("events are sent in order", *position > reached)?;
            reached = *position;
            let topic = Topic::of(event);
            let is_asked = self.topics.contains(&topic) || self.resources.contains(&topic);
            check("an edge is sent only what it follows", is_asked)?;
        }
        check("events are sent in order", batch.through == reached)?;
        self.last = Some(reached);
        Ok(())
    }

    /// Whether a fresh follow has no reply yet.
    fn is_beginning(&self) -> bool {
        matches!(self.awaited, Some(Awaited::Fresh))
    }
}

/// The broken promise, and how.
type Checked = Result<(), (&'static str, String)>;

fn check(promise: &'static str, is_kept: bool) -> Checked {
    if is_kept {
        Ok(())
    } else {
        Err((promise, "it sent".to_owned()))
    }
}

fn topics_of(uris: &[Uri]) -> BTreeSet<Topic> {
    uris.iter().cloned().map(Topic::Resource).collect()
}

/// A batch for a shard contains only events of topics that it has asked for.
pub(crate) fn check_batch(text: &str, asked: impl Fn(&Topic) -> bool) -> Result<(), Violation> {
    let is_asked = Batch::from_json(text).is_ok_and(|batch| {
        let mut events = batch.events.iter();
        events.all(|(_, event)| asked(&Topic::of(event)))
    });
    ensure("a shard is sent only what it follows", is_asked, || {
        text.to_owned()
    })
}

const FRAMES: &str = "frames are understood";
const REPLIES: &str = "each reply is to the last follow";
