//! Streams of events in any order of steps: however the log is cut into pages, and whichever stream
//! has room, each client gets what is for it, in order, once.

use mcp_listen::events::{Opening, Window, matching::Expected};
use proptest::{collection::vec, prelude::*, sample::Index};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::any::{any_id, check};

use super::{
    host::name,
    stream_world::{Client, World, label, opening, position_of, values},
};

#[derive(Clone, Debug)]
enum Step {
    Open(&'static str, Taste, Option<Index>),
    /// Publishes, and cues at once or later.
    Publish {
        of: usize,
        value: u64,
        group: Option<usize>,
        is_cued: bool,
    },
    Cue(usize),
    Pass,
    Room(Index, bool),
    CatchUp(Index),
    Beat(Index),
    /// The client comes back with its last cursor.
    Resume(Index),
    Remove(Index),
    Pages(usize),
}

/// What a client wants.
#[derive(Clone, Debug)]
struct Taste {
    of: usize,
    value: Option<u64>,
    groups: Vec<usize>,
}

const NAMES: [&str; 2] = ["a", "b"];
const GROUPS: [&str; 2] = ["x", "y"];

fn any_taste() -> impl Strategy<Value = Taste> {
    let groups = prop::sample::subsequence(vec![0, 1], 0..=2);
    (0..2usize, prop::option::of(0..2u64), groups).prop_map(|(of, value, groups)| Taste {
        of,
        value,
        groups,
    })
}

fn any_step() -> impl Strategy<Value = Step> {
    let one = any::<Index>;
    let open = (any_id(), any_taste(), prop::option::of(one()));
    let publish = (
        0..2usize,
        0..2u64,
        prop::option::of(0..2usize),
        any::<bool>(),
    );
    prop_oneof![
        4 => open.prop_map(|(id, taste, from)| Step::Open(id, taste, from)),
        12 => publish.prop_map(|(of, value, group, is_cued)| {
            Step::Publish { of, value, group, is_cued }
        }),
        4 => (0..2usize).prop_map(Step::Cue),
        2 => Just(Step::Pass),
        6 => (one(), any::<bool>()).prop_map(|(index, room)| Step::Room(index, room)),
        3 => one().prop_map(Step::CatchUp),
        3 => one().prop_map(Step::Beat),
        2 => one().prop_map(Step::Resume),
        1 => one().prop_map(Step::Remove),
        2 => (1..4usize).prop_map(Step::Pages),
    ]
}

struct Course {
    world: World,
    /// What was published: position, name, value and group.
    published: Vec<(u64, usize, u64, Option<usize>)>,
    clients: Vec<Client>,
    tastes: Vec<Taste>,
}

impl Course {
    fn new(window: Window) -> Self {
        Self {
            world: World::with(window),
            published: Vec::new(),
            clients: Vec::new(),
            tastes: Vec::new(),
        }
    }

    fn run(&mut self, steps: Vec<Step>) {
        for step in steps {
            self.take(step);
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Open(id, taste, from) => {
                let most = usize::try_from(self.world.position()).unwrap() + 1;
                let cursor = from.map(|from| self.world.cursor(from.index(most) as u64));
                let client = self.open(id, &taste, cursor);
                self.clients.push(client);
                self.tastes.push(taste);
            }
            Step::Publish {
                of,
                value,
                group,
                is_cued,
            } => {
                let data = format!(r#"{{"v":{value}}}"#);
                let group_name = group.map(|group| GROUPS[group]);
                let position = self.world.publish(NAMES[of], &data, group_name);
                self.published.push((position, of, value, group));
                self.world.streams.handle_cue(&name(NAMES[of]));
                if is_cued {
                    self.deliver(of);
                }
            }
            Step::Cue(of) => self.deliver(of),
            Step::Pass => self.world.pass(),
            Step::Pages(most) => self.world.most = most,
            Step::Room(index, _)
            | Step::CatchUp(index)
            | Step::Beat(index)
            | Step::Resume(index)
            | Step::Remove(index)
                if !self.clients.is_empty() =>
            {
                self.touch(index.index(self.clients.len()), &step);
            }
            _ => {}
        }
    }

    fn touch(&mut self, place: usize, step: &Step) {
        let client = &mut self.clients[place];
        match step {
            Step::Room(_, room) => client.has_room = *room,
            Step::CatchUp(_) if client.has_room => self.world.catch_up(client),
            Step::Beat(_) if client.has_room => self.world.beat(client),
            Step::Resume(_) => {
                let cursor = client
                    .position()
                    .map(|position| self.world.cursor(position));
                self.world.streams.remove(client.stream);
                let next = self.open("5", &self.tastes[place].clone(), cursor);
                let client = &mut self.clients[place];
                (client.stream, client.has_room) = (next.stream, next.has_room);
                client.messages.extend(next.messages);
            }
            Step::Remove(_) => {
                self.world.streams.remove(client.stream);
                self.check(place);
                self.clients.remove(place);
                self.tastes.remove(place);
            }
            _ => {}
        }
    }

    fn open(&mut self, id: &str, taste: &Taste, cursor: Option<String>) -> Client {
        self.world.open(Opening {
            expected: match taste.value {
                Some(value) => values("/v", &value.to_string()),
                None => Expected::Everything,
            },
            groups: taste
                .groups
                .iter()
                .map(|group| label(GROUPS[*group]))
                .collect(),
            cursor: cursor.map(Into::into),
            ..opening(id, NAMES[taste.of])
        })
    }

    fn deliver(&mut self, of: usize) {
        self.world.deliver(NAMES[of], &mut self.clients, &[]);
    }

    fn end(mut self) {
        for client in &mut self.clients {
            client.has_room = true;
            self.world.catch_up(client);
        }
        (0..NAMES.len()).for_each(|of| self.deliver(of));
        for client in &mut self.clients {
            self.world.catch_up(client);
            self.world.beat(client);
        }
        let end = self.world.position();
        for place in 0..self.clients.len() {
            let has = self.check(place);
            let missing = self
                .wanted(place)
                .find(|position| (has + 1..=end).contains(position));
            assert_eq!(missing, None, "{:?}", self.clients[place]);
        }
        for client in &self.clients {
            assert!(!self.world.is_behind(client));
        }
    }

    /// The positions of what is for a client.
    fn wanted(&self, place: usize) -> impl Iterator<Item = u64> {
        let taste = &self.tastes[place];
        let wanted = self.published.iter().filter(|(_, of, value, group)| {
            *of == taste.of
                && taste.value.is_none_or(|wanted| wanted == *value)
                && group.is_none_or(|group| taste.groups.contains(&group))
        });
        wanted.map(|(position, ..)| *position)
    }

    /// Follows what a client was sent. Returns the position up to which it has everything.
    fn check(&self, place: usize) -> u64 {
        let mut messages = self.clients[place].messages.iter();
        let first = messages.next().unwrap();
        assert_eq!(
            first["method"], "notifications/events/active",
            "active is first"
        );
        let mut has = position_of(first).unwrap();
        for message in messages {
            let to = position_of(message).unwrap();
            let skipped = self
                .wanted(place)
                .find(|position| (has + 1..=to).contains(position));
            match message["method"].as_str().unwrap() {
                "notifications/events/active" => {
                    let is_truncated = message["params"]["truncated"] == true;
                    let has_lost = self.has_lost(place, has, to);
                    assert_eq!(is_truncated, has_lost, "{message} after {has}");
                    assert!(is_truncated || has == to, "{message} after {has}");
                }
                "notifications/events/event" => {
                    assert_eq!(skipped, Some(to), "{message} after {has}");
                }
                "notifications/events/heartbeat" => {
                    assert_eq!(skipped, None, "{message} after {has}");
                }
                other => panic!("{other}"),
            }
            assert!(has <= to, "{message} after {has}");
            has = to;
        }
        has
    }

    /// Whether the log has lost something of a client's name after one position and up to another.
    fn has_lost(&self, place: usize, after: u64, to: u64) -> bool {
        let kept = self.world.kept();
        self.published.iter().any(|(position, of, ..)| {
            let is_between = (after + 1..=to).contains(position);
            is_between && *of == self.tastes[place].of && !kept.contains(position)
        })
    }
}

#[test]
fn each_client_gets_what_is_for_it_in_order_once() {
    check(vec(any_step(), 1..60), |steps| {
        let mut course = Course::new(Window::default());
        course.run(steps);
        course.end();
    });
}

#[test]
fn each_client_learns_of_what_the_log_has_lost_and_misses_nothing_else() {
    check(vec(any_step(), 1..60), |steps| {
        let mut course = Course::new(Window {
            events: 2,
            ..Window::default()
        });
        course.run(steps);
        course.end();
    });
}
