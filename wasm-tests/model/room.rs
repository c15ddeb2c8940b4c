use mcp_listen::bus::{Bus, Shard};

use crate::{
    invariant::{Violation, ensure},
    key::Key,
    shard::ShardObject,
    world::World,
};

/// The room for names at a bus and at each of its shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    bytes: usize,
    /// The number of edges for which a part is reserved.
    edges: usize,
    /// The bytes that each edge may hold at a bus without shards, whatever others hold.
    reserved: usize,
    /// The most bytes that an edge may hold.
    most: usize,
}

impl Room {
    /// The room of a setup; `None`: unlimited.
    pub(crate) fn of(which: u8) -> Option<Self> {
        ROOMS[usize::from(which) % ROOMS.len()]
    }

    pub(crate) fn limit_bus(self, bus: &mut Bus) {
        bus.set_room(self.bytes, self.edges);
    }

    pub(crate) fn limit_shard(self, shard: &mut Shard) {
        shard.set_room(self.bytes, self.edges);
    }
}

/// Limits on names.
impl World {
    /// Whether the isolate of a stream has room for it, as far as it knows.
    pub(crate) fn has_room_at(&mut self, at: usize, place: usize) -> bool {
        let now = self.now;
        let made = self.clients[at]
            .host
            .as_ref()
            .and_then(|it| it.made.as_ref());
        let Some((stream, _)) = made else {
            return true;
        };
        let core = &mut self.isolates[place].core;
        core.has_room_for(stream.honored(), now)
    }

    /// Whether a stream of a client has room in any case: only if it may not share a connection.
    pub(crate) fn has_room_in_any_case(&self, at: usize) -> bool {
        let Some(room) = Room::of(self.setup.room) else {
            return true;
        };
        let client = &self.clients[at];
        let wanted = client.wanted.iter();
        let wanted = wanted.filter(|key| !client.is_session() || !key.is_resource());
        let bytes: usize = wanted.map(Key::name_bytes).sum();
        !self.setup.has_shards && !self.setup.shares && bytes <= room.reserved
    }

    /// An edge holds no more names than it may. Sessions have other limits on resources.
    pub(crate) fn check_room(&mut self) -> Result<(), Violation> {
        let Some(room) = Room::of(self.setup.room) else {
            return Ok(());
        };
        let at_shards = self.shards.objects.values().map(ShardObject::most_names);
        let most = at_shards.max().max(Some(self.bus.most_names()));
        ensure(
            "an edge holds no more names than it may",
            most <= Some(room.most),
            || format!("one holds {most:?} bytes"),
        )
    }

    /// A deployment changes the limit of a root with shards.
    pub(crate) fn change_room(&mut self, what: u8) -> Result<(), Violation> {
        if Room::of(self.setup.room).is_none() {
            return Ok(());
        }
        let reserved = usize::from(what) % 100;
        self.note(|| format!("the shards have room for {reserved} bytes of names"));
        self.bus.room = Some(Room {
            bytes: 2 * reserved,
            edges: 1,
            reserved,
            most: reserved,
        });
        self.reset_bus(what.is_multiple_of(2))
    }

    /// A deployment lifts the limits: root and shards restart.
    pub(crate) fn lift_limits(&mut self) -> Result<(), Violation> {
        if Room::of(self.setup.room).is_none() {
            return Ok(());
        }
        self.settle()?;
        self.note(|| "the limits on names are lifted".to_owned());
        self.setup.room = 0;
        self.disturbances += 1;
        self.bus.room = None;
        self.reset_bus(false)?;
        for object in self.shards.objects.values_mut() {
            object.room = None;
        }
        for shard in self.shards.objects.keys().copied().collect::<Vec<_>>() {
            self.reset_shard(shard, false)?;
        }
        Ok(())
    }

    /// The bytes of all names that isolates, shards and the root hold.
    pub(crate) fn held_names(&mut self) -> usize {
        let at_isolates = self
            .isolates
            .iter()
            .map(|isolate| isolate.core.name_bytes());
        let at_shards = self.shards.objects.values_mut().map(ShardObject::names);
        at_isolates.sum::<usize>() + at_shards.sum::<usize>() + self.bus.names()
    }
}

/// Two names for an edge, and four for all shards; and one, for an edge and for all shards.
const ROOMS: [Option<Room>; 3] = [
    None,
    Some(Room {
        bytes: 600,
        edges: 2,
        reserved: 150,
        most: 150,
    }),
    Some(Room {
        bytes: 200,
        edges: 1,
        reserved: 100,
        most: 100,
    }),
];
