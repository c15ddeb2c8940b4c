use mcp_listen::{
    bus::ShardId,
    clock::Millis,
    fanout::StreamId,
    isolate,
    lease::{Budget, Term},
    position::Cursor,
    upstream::Timeouts,
};

use crate::{absence::Absence, host::ATTACH, network::SocketId};

/// Streams of one isolate on a connection to the bus, as in
/// `js/streams/connection/shared-connection.ts`: the core's part, the requests of the streams, and
/// which of them owns the socket.
#[derive(Debug)]
pub(crate) struct Isolate {
    pub(crate) core: isolate::Isolate,
    /// Ordered by age, the oldest first.
    pub(crate) members: Vec<Member>,
    /// The stream whose request owns the socket.
    pub(crate) holder: Option<StreamId>,
    pub(crate) socket: Option<SocketId>,
    /// The epoch of the log when it was opened.
    pub(crate) epoch: Box<str>,
    /// The shard that it remembers; `None`: it asks the root.
    pub(crate) home: Option<ShardId>,
    /// The number of redirects.
    pub(crate) moves: usize,
    /// What the last fresh follow states as received before.
    pub(crate) stated: Option<Cursor>,
    /// The first frame of the socket, and whether anything came in reply.
    pub(crate) attach_frame: String,
    pub(crate) has_received: bool,
    /// The number of redirects of the socket before anything came.
    pub(crate) hops: usize,
    pub(crate) absence: Option<Absence>,
    /// The number of the last published event at the current confirmation.
    pub(crate) confirmed: usize,
    /// The result of the write probe: whether requests can write to streams of others.
    pub(crate) shares: Option<bool>,
    pub(crate) write_probes: u8,
    /// Since when the owner, or no owner, has been idle while another request runs.
    pub(crate) idle_since: Option<Millis>,
    /// When streams last ended because all requests are spent.
    pub(crate) ended_at: Option<Millis>,
}

/// A stream on a shared connection, and its request.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: StreamId,
    pub(crate) client: usize,
    /// The number of writes by its request while it owned the socket.
    pub(crate) writes: usize,
    /// Tasks for its request, which does them once it runs.
    pub(crate) tasks: Vec<RequestTask>,
    /// Whether its request does nothing by itself: others still write to its stream.
    pub(crate) is_stalled: bool,
    /// Since when that is so.
    pub(crate) runs_since: Millis,
    /// Since when its request runs and may own the socket, but no request carries out the work.
    pub(crate) waits_since: Option<Millis>,
    /// The most members that the isolate had while it was one.
    pub(crate) peers: usize,
    /// Whether it was attached.
    pub(crate) is_attached: bool,
    /// Whether the log no longer held events that it may have missed.
    pub(crate) may_be_lost: bool,
    /// The number of the last published event at the confirmation that the stream waited for.
    pub(crate) head: usize,
}

/// What one request asks another one to do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RequestTask {
    Take,
    Prove(Term),
    Watch,
}

impl Member {
    pub(crate) fn of(client: usize, id: StreamId, now: Millis) -> Self {
        Self {
            id,
            client,
            writes: 0,
            tasks: Vec::new(),
            is_stalled: false,
            runs_since: now,
            waits_since: None,
            peers: 0,
            is_attached: false,
            may_be_lost: false,
            head: 0,
        }
    }
}

impl Isolate {
    pub(crate) fn new(probe_interval: Millis, budget: Budget) -> Self {
        let timeouts = Timeouts {
            attach: ATTACH.into(),
            probe_interval: probe_interval.into(),
        };
        let mut core = isolate::Isolate::new(timeouts, Millis(0));
        core.lease().set_budget(budget);
        Self {
            core,
            members: Vec::new(),
            holder: None,
            socket: None,
            epoch: Box::default(),
            home: None,
            moves: 0,
            stated: None,
            attach_frame: String::new(),
            has_received: false,
            hops: 0,
            absence: None,
            confirmed: 0,
            shares: None,
            write_probes: 0,
            idle_since: None,
            ended_at: None,
        }
    }

    pub(crate) fn member(&self, id: StreamId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    pub(crate) fn member_mut(&mut self, id: StreamId) -> Option<&mut Member> {
        self.members.iter_mut().find(|member| member.id == id)
    }

    fn owner_member(&self) -> Option<&Member> {
        self.member(self.holder?)
    }

    /// Whether the owner carries out its work.
    pub(crate) fn is_served(&self) -> bool {
        self.owner_member().is_some_and(|member| !member.is_stalled)
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.members.iter().any(|member| member.is_stalled)
    }

    /// Counts the writes of the owner.
    pub(crate) fn count(&mut self, writes: usize) {
        if let Some(member) = self.holder.and_then(|id| self.member_mut(id)) {
            member.writes += writes;
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        let of_bus = self.core.poll_timeout().filter(|_| self.is_served());
        let of_streams = self.core.streams().poll_timeout();
        [of_bus, of_streams].into_iter().flatten().min()
    }

    /// The next timer of the running requests, and whose it is.
    pub(crate) fn poll_watch(&mut self) -> Option<(Millis, StreamId)> {
        let Self { core, members, .. } = self;
        let running = members.iter().filter(|member| !member.is_stalled);
        let watches =
            running.map(|member| Some((core.lease().poll_timeout_of(member.id)?, member.id)));
        watches.flatten().min()
    }
}

/// A socket that is redirected before anything came asks for another place by itself, this often.
pub(crate) const MAX_HOPS: usize = 3;
