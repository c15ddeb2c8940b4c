use std::cell::RefCell;

use mcp_listen::{
    bus::{self, EdgeCloseReason, EdgeId, ShardOutput, ShardReceived},
    clock::Millis,
};

use crate::{
    Component,
    bus::{kept, restored},
    convert::out_of_place,
    wit::{
        bus::{KeptEdge, Persist},
        shard::{CloseReason, Closed, FollowCall, Guest, GuestShard, Output, Received, Stored},
        types::{Cursor, Error},
    },
};

impl Guest for Component {
    type Shard = Shard;
}

/// A relay without I/O.
pub(crate) struct Shard(RefCell<bus::Shard>);

impl GuestShard for Shard {
    fn new(seq: u64, cursor: Option<Cursor>, low_span: u64) -> Self {
        let shard = bus::Shard::new(seq).with_low_span(Millis(low_span));
        Self(RefCell::new(match cursor {
            Some(cursor) => shard.woken(cursor.into()),
            None => shard,
        }))
    }

    fn set_room(&self, max_bytes: u32, edges: u32) {
        let mut core = self.0.borrow_mut();
        core.set_room(max_bytes as usize, edges as usize);
    }

    fn connect(&self) -> u32 {
        self.0.borrow_mut().connect().0
    }

    fn restore(&self, edge: KeptEdge) -> Result<u32, Error> {
        let (topics, last, seq) = restored(&edge)?;
        Ok(self.0.borrow_mut().restore(&topics, last, seq, None).0)
    }

    fn disconnect(&self, edge: u32, now: u64) {
        self.0.borrow_mut().disconnect(EdgeId(edge), Millis(now));
    }

    fn handle_message(&self, edge: u32, text: String, now: u64) -> Result<Received, Error> {
        let mut core = self.0.borrow_mut();
        Ok(
            match core.handle_message(EdgeId(edge), &text, Millis(now))? {
                ShardReceived::Followed { persist, .. } => Received::Followed((&persist).into()),
                ShardReceived::Detached => Received::Detached,
                _ => return Err(out_of_place("the result of the frame is not known here")),
            },
        )
    }

    fn kept(&self, edge: u32) -> KeptEdge {
        kept(self.0.borrow().registry(), edge)
    }

    fn poll_output(&self) -> Option<Output> {
        let output = self.0.borrow_mut().poll_output()?;
        Some(match output {
            ShardOutput::Send(delivery) => Output::Send(delivery.into()),
            ShardOutput::PersistAll(edge) => stored(edge, Persist::All),
            ShardOutput::PersistChange(edge, delta) => {
                stored(edge, Persist::Change(delta.to_json()))
            }
            ShardOutput::Close(edge, reason) => Output::Close(Closed {
                edge: edge.0,
                reason: reason_of(reason)?,
            }),
            // The reply to a call about a session, which no bus here makes.
            ShardOutput::Done(_) => return self.poll_output(),
            _ => return None,
        })
    }

    fn poll_call(&self, now: u64) -> Option<FollowCall> {
        let call = self.0.borrow_mut().poll_call(Millis(now))?;
        Some(FollowCall {
            seq: call.seq,
            text: call.text,
        })
    }

    fn handle_response(&self, seq: u64, text: String, now: u64, random: f64) {
        let mut core = self.0.borrow_mut();
        core.handle_response(seq, &text, Millis(now), random);
    }

    fn handle_failure(&self, seq: u64, is_overloaded: bool, now: u64, random: f64) {
        let mut core = self.0.borrow_mut();
        core.handle_failure(seq, is_overloaded, Millis(now), random);
    }

    fn handle_batch(&self, text: String, now: u64) -> Result<String, Error> {
        let mut core = self.0.borrow_mut();
        Ok(core.handle_batch(&text, Millis(now))?)
    }

    fn poll_timeout(&self) -> Option<u64> {
        self.0.borrow().poll_timeout().map(|at| at.0)
    }

    fn handle_timeout(&self, now: u64, random: f64) {
        self.0.borrow_mut().handle_timeout(Millis(now), random);
    }

    fn cursor(&self) -> Option<Cursor> {
        self.0.borrow().cursor().map(Cursor::from)
    }

    fn is_settled(&self) -> bool {
        self.0.borrow().is_settled()
    }

    fn is_retired(&self) -> bool {
        self.0.borrow().is_retired()
    }
}

/// `None` for a reason that is not known here.
fn reason_of(reason: EdgeCloseReason) -> Option<CloseReason> {
    Some(match reason {
        EdgeCloseReason::Lost => CloseReason::Lost,
        EdgeCloseReason::Redirected => CloseReason::Redirected,
        EdgeCloseReason::Full => CloseReason::Full,
        EdgeCloseReason::Over => CloseReason::Over,
        _ => return None,
    })
}

fn stored(edge: EdgeId, persist: Persist) -> Output {
    Output::Store(Stored {
        edge: edge.0,
        persist,
    })
}
