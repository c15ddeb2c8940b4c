use std::collections::{BTreeMap, BTreeSet, VecDeque};

use mcp_listen::{bus::ShardId, clock::Millis};

use crate::{
    bus::Refusal,
    invariant::Violation,
    mail::{Call, Mail},
    network::SocketId,
    room::Room,
    session_calls::PendingCall,
    shard::ShardObject,
    socket_check::check_batch,
    world::World,
};

/// The shards of a bus, and the calls between them and their root, which arrive late, twice, or not
/// at all.
#[derive(Debug, Default)]
pub(crate) struct Shards {
    pub(crate) objects: BTreeMap<ShardId, ShardObject>,
    homes: BTreeMap<SocketId, ShardId>,
    pub(crate) mail: VecDeque<Mail>,
    pub(crate) is_paused: bool,
    /// The next call about a session fails.
    pub(crate) is_refusing: bool,
    /// Until when a shard may pause, because its root reported overload.
    spared_until: Millis,
    /// The number of restarts of the root.
    life: usize,
    /// The calls about sessions in flight, with the instance of the root that made them, and the
    /// number of the last one.
    pub(crate) tickets: BTreeMap<u32, (PendingCall, usize)>,
    ticket: u32,
}

impl Shards {
    /// The shard of a socket; `None` if it is at the root.
    pub(crate) fn home(&self, socket: SocketId) -> Option<ShardId> {
        self.homes.get(&socket).copied()
    }

    /// The shard of a socket, as an object.
    pub(crate) fn object_of(&mut self, socket: SocketId) -> Option<&mut ShardObject> {
        let home = self.home(socket)?;
        self.objects.get_mut(&home)
    }

    /// Whether nothing is in flight.
    pub(crate) fn is_settled(&self) -> bool {
        !self.is_paused
            && self.mail.is_empty()
            && self.objects.values().all(ShardObject::is_settled)
    }

    /// Whether a shard may pause because of an overloaded root.
    pub(crate) fn is_root_spared(&self, now: Millis) -> bool {
        now < self.spared_until
    }

    pub(crate) fn poll_timeout(&self) -> Option<Millis> {
        self.objects
            .values()
            .filter_map(ShardObject::poll_timeout)
            .min()
    }

    /// A root that wakes counts as restarted too: it makes its calls under the same numbers.
    pub(crate) fn count_life(&mut self, has_ended: bool) {
        self.life += usize::from(has_ended);
    }

    /// The number of calls and replies in flight.
    pub(crate) fn waiting(&self) -> usize {
        self.mail.len()
    }

    pub(crate) fn calm(&mut self) {
        self.is_paused = false;
        self.is_refusing = false;
    }

    pub(crate) fn clear(&mut self) {
        self.mail.clear();
        self.homes.clear();
        self.objects.clear();
    }

    fn enter(&mut self, socket: SocketId, shard: ShardId) -> bool {
        let object = self.objects.get_mut(&shard);
        let enters = object.is_some_and(|object| object.connect(socket));
        if enters {
            self.homes.insert(socket, shard);
        }
        enters
    }
}

impl World {
    /// Connects a socket: where its host was before, or where the root routes it. Returns whether
    /// it was accepted.
    pub(crate) fn connect_socket(&mut self, socket: SocketId, known: Option<ShardId>) -> bool {
        if let Some(shard) = known
            && self.shards.enter(socket, shard)
        {
            return true;
        }
        if self.bus.refusal().is_some() {
            return false;
        }
        let continent = if socket.0.is_multiple_of(3) {
            "NA"
        } else {
            "EU"
        };
        let room = Room::of(self.setup.room);
        let mut full = known;
        // A shard may fill up while an edge is on its way there.
        let is_placed = (0..MAX_HOPS).any(|_| match self.bus.place(continent, full).shard() {
            None => {
                self.bus.connect(socket);
                true
            }
            Some(shard) => {
                full = Some(shard);
                let objects = &mut self.shards.objects;
                let object = objects.entry(shard);
                object.or_insert_with(|| ShardObject::new(room));
                self.shards.enter(socket, shard)
            }
        });
        self.collect_mail();
        is_placed
    }

    /// The outputs of root and shards: frames go into the network, calls into the mail.
    pub(crate) fn collect_mail(&mut self) {
        let now = self.now;
        for call in self.bus.root_calls(now) {
            let table = &self.bus.disk().table;
            let checked = check_batch(&call.text, |topic| table.has_asked(call.shard, topic));
            self.record(checked);
            let number = Call {
                life: self.shards.life,
                number: call.call,
            };
            self.post(Mail::Batch(call.shard, number, call.text));
        }
        self.post_session_calls();
        for shard in self.shards.objects.keys().copied().collect::<Vec<_>>() {
            let Some(object) = self.shards.objects.get_mut(&shard) else {
                continue;
            };
            let out = object.take_out();
            let call = object.poll_call(now);
            let done = object.take_done();
            self.hand_out(out);
            for ticket in done {
                self.post(Mail::Done(shard, ticket));
            }
            if let Some(call) = call {
                self.post(Mail::Follow(shard, call.seq, call.text));
            }
        }
    }

    /// Delivers one letter, unless the mail is held; returns whether there was one.
    pub(crate) fn deliver_mail(&mut self) -> Result<bool, Violation> {
        if self.shards.is_paused {
            return Ok(false);
        }
        let Some(mail) = self.shards.mail.pop_front() else {
            return Ok(false);
        };
        self.arrive_mail(&mail)?;
        Ok(true)
    }

    /// The timeouts of shards.
    pub(crate) fn shards_timeout(&mut self) {
        let random = self.random();
        let now = self.now;
        self.bus.root_timeout(now, random);
        for object in self.shards.objects.values_mut() {
            object.handle_timeout(now, random);
        }
    }

    /// The memory of the root is lost, with the calls that it waits for.
    pub(crate) fn forget_calls(&mut self) {
        self.shards.count_life(true);
    }

    pub(crate) fn post(&mut self, mail: Mail) {
        self.note(|| format!("  posted: {mail:?}"));
        self.shards.mail.push_back(mail);
    }

    pub(crate) fn arrive_mail(&mut self, mail: &Mail) -> Result<(), Violation> {
        self.note(|| format!("  arrives: {mail:?}"));
        let random = self.random();
        let now = self.now;
        match (mail, self.bus.refusal()) {
            (Mail::Follow(..), Some(Refusal::Silent)) | (Mail::BatchAck(..), Some(_)) => {}
            (Mail::Follow(..), Some(refusal)) => {
                self.fail_mail(mail, refusal == Refusal::Overloaded)?;
            }
            (Mail::Follow(shard, seq, text), None) => {
                let reply = self.bus.handle_follow(*shard, text, now)?;
                self.register.observe(&self.bus, now)?;
                self.collect_mail();
                self.post(Mail::Reply(*shard, *seq, reply));
            }
            (Mail::BatchAck(shard, call, text), None) => {
                if call.life == self.shards.life {
                    let call = call.number;
                    self.bus.handle_ack(*shard, call, text, now, random);
                }
            }
            (Mail::Batch(shard, call, text), _) => {
                if let Some(object) = self.shards.objects.get_mut(shard) {
                    let ack = object.handle_batch(text, now)?;
                    self.collect_mail();
                    self.post(Mail::BatchAck(*shard, *call, ack));
                }
            }
            (Mail::SessionCall(shard, ticket, text), _) => {
                if std::mem::take(&mut self.shards.is_refusing) {
                    self.fail_mail(mail, false)?;
                } else if let Some(object) = self.shards.objects.get_mut(shard) {
                    object.handle_session_call(*ticket, text)?;
                }
            }
            (Mail::Done(_, ticket), _) => {
                let confirmed = self.shards.tickets.remove(ticket);
                if let Some((pending, _)) = confirmed.filter(|(_, life)| *life == self.shards.life)
                {
                    self.bus.handle_confirmed(&pending);
                }
                self.handle_confirmed(*ticket)?;
            }
            (Mail::Reply(shard, seq, text), _) => {
                if let Some(object) = self.shards.objects.get_mut(shard) {
                    object.handle_response(*seq, text, now, random);
                }
            }
        }
        self.collect_mail();
        Ok(())
    }

    /// The caller is informed that its call failed.
    pub(crate) fn fail_mail(&mut self, mail: &Mail, is_overloaded: bool) -> Result<(), Violation> {
        self.note(|| format!("  fails: {mail:?}"));
        let random = self.random();
        let now = self.now;
        match mail {
            Mail::Batch(shard, call, _) | Mail::BatchAck(shard, call, _) => {
                if self.bus.refusal().is_none() && call.life == self.shards.life {
                    let call = call.number;
                    self.bus
                        .fail_batch(*shard, call, is_overloaded, now, random);
                }
            }
            Mail::Follow(shard, seq, _) | Mail::Reply(shard, seq, _) => {
                if is_overloaded {
                    self.shards.spared_until = now + SPARED;
                }
                if let Some(object) = self.shards.objects.get_mut(shard) {
                    object.handle_failure(*seq, is_overloaded, now, random);
                }
            }
            Mail::SessionCall(_, ticket, _) | Mail::Done(_, ticket) => self.fail_ticket(*ticket)?,
        }
        self.collect_mail();
        Ok(())
    }

    pub(crate) fn fail_ticket(&mut self, ticket: u32) -> Result<(), Violation> {
        self.shards.tickets.remove(&ticket);
        self.fail_visits(Some(ticket))
    }

    /// Posts the calls of the root about sessions; returns those that are awaited.
    pub(crate) fn post_session_calls(&mut self) -> BTreeSet<u32> {
        let mut awaited = BTreeSet::new();
        for pending in self.bus.take_session_calls() {
            self.shards.ticket += 1;
            let ticket = self.shards.ticket;
            if pending.is_awaited {
                awaited.insert(ticket);
            }
            self.post(Mail::SessionCall(
                ShardId(pending.shard),
                ticket,
                pending.call.to_json(),
            ));
            self.shards
                .tickets
                .insert(ticket, (pending, self.shards.life));
        }
        awaited
    }
}

/// The longest pause after a call to an overloaded root.
const SPARED: Millis = Millis(6_400);
/// As in `js/cloudflare/edge/connector.ts`.
const MAX_HOPS: usize = 4;
