//! Changes of interest by delta: the result equals a full replacement, at the cost of the change.

use std::collections::BTreeMap;

use mcp_listen::{
    bus::{Bus, EdgeId, Persist, Received},
    event::ServerEvent,
    filter::SubscriptionFilter,
    position::{Cursor, Position},
    scope::{Name, Scope},
    topic::{Delta, Topic, Topics},
    uri::Uri,
    wire::{Follow, FollowResponse, decode_topics},
};
use proptest::{collection::vec, prelude::*};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::follow::{Publish as _, Receivers as _};
use crate::{
    any::{any_event, any_filter, any_uri, check, uri},
    follow,
    wanted::Reported,
};

pub(crate) fn bus() -> Bus {
    Bus::new(Cursor {
        epoch: "e".into(),
        position: Position(0),
    })
}

pub(crate) fn watching(uris: impl IntoIterator<Item = Uri>) -> SubscriptionFilter {
    SubscriptionFilter {
        resource_subscriptions: uris.into_iter().collect(),
        ..SubscriptionFilter::default()
    }
}

pub(crate) fn attach(bus: &mut Bus, edge: EdgeId, filter: &SubscriptionFilter) -> Received {
    let text = follow::fresh(next(bus, edge), filter).to_json();
    bus.handle_message(edge, &text).unwrap()
}

pub(crate) fn change(
    bus: &mut Bus,
    edge: EdgeId,
    add: &SubscriptionFilter,
    drop: &SubscriptionFilter,
) -> FollowResponse {
    let follow = follow::change(next(bus, edge), add, drop);
    follow::reply_to(bus, edge, &follow)
}

fn next(bus: &Bus, edge: EdgeId) -> u64 {
    bus.registry().seq(edge).unwrap_or_default() + 1
}

/// A step of one of a few edges.
#[derive(Clone, Debug)]
enum Step {
    Attach(SubscriptionFilter),
    AttachToEverything,
    Change(SubscriptionFilter, SubscriptionFilter),
    Watch(Vec<Uri>),
    Detach,
    /// The edge is restored from its stored rows.
    Restore,
    Publish(ServerEvent),
}

fn any_scoped() -> impl Strategy<Value = SubscriptionFilter> {
    let names =
        |pattern: &'static str| vec(pattern.prop_map(|text| Name::new(&text).unwrap()), 0..3);
    (any_filter(), names("[xy]"), names("[mn]"), any::<bool>()).prop_map(
        |(filter, mut groups, mut principals, disconnects)| {
            groups.dedup();
            principals.dedup();
            let scope = Scope {
                groups,
                principals,
                disconnects,
            };
            SubscriptionFilter { scope, ..filter }
        },
    )
}

fn any_received() -> impl Strategy<Value = ServerEvent> {
    let name = |text: &str| Name::new(text).unwrap();
    prop_oneof![
        3 => any_event(),
        1 => ("[xyz]", any_event()).prop_map(move |(group, event)| ServerEvent::ForGroup {
            group: name(&group),
            event: Box::new(event),
        }),
        1 => "[mno]".prop_map(move |text| ServerEvent::Disconnect { principal: name(&text) }),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => any_scoped().prop_map(Step::Attach),
        1 => Just(Step::AttachToEverything),
        6 => (any_scoped(), any_scoped()).prop_map(|(add, drop)| Step::Change(add, drop)),
        1 => vec(any_uri(), 0..4).prop_map(Step::Watch),
        1 => Just(Step::Detach),
        1 => Just(Step::Restore),
        4 => any_received().prop_map(Step::Publish),
    ]
}

/// A bus, and the interest of each edge as a plain set.
struct Twin {
    bus: Bus,
    edges: BTreeMap<usize, (EdgeId, Vec<String>)>,
    wanted: BTreeMap<usize, Wanted>,
    reported: Reported,
}

#[derive(Clone)]
enum Wanted {
    Everything,
    Filter(SubscriptionFilter),
}

impl Wanted {
    fn topics(&self) -> Topics {
        match self {
            Self::Everything => Topics::from_iter([Topic::Everything]),
            Self::Filter(filter) => follow::topics(filter),
        }
    }

    fn accepts(&self, event: &ServerEvent) -> bool {
        match self {
            Self::Everything => true,
            Self::Filter(filter) => filter.accepts(event),
        }
    }
}

impl Twin {
    fn step(&mut self, place: usize, step: Step) {
        let known = self.edges.get(&place).map(|(edge, _)| *edge);
        match (step, known) {
            (Step::Attach(filter), _) => self.attach(place, Wanted::Filter(filter)),
            (Step::AttachToEverything, _) => self.attach(place, Wanted::Everything),
            (Step::Change(add, drop), Some(edge)) => {
                let follow = follow::change(next(&self.bus, edge), &add, &drop);
                let reply = follow::accepted(&mut self.bus, edge, &follow.to_json());
                let stored = &mut self.edges.get_mut(&place).unwrap().1;
                match reply.persist() {
                    Persist::Nothing => {}
                    Persist::Delta(delta) => stored.push(delta.to_json()),
                    _ => panic!("all of it is stored"),
                }
                let wanted = self.wanted.get_mut(&place).unwrap();
                if let Wanted::Filter(filter) = wanted {
                    *filter = plainly(filter, &add, &drop);
                }
            }
            (Step::Watch(uris), Some(edge)) => {
                self.bus.set_interest(edge, &uris, false).unwrap();
                if let Some(Wanted::Filter(filter)) = self.wanted.get_mut(&place) {
                    filter.resource_subscriptions = uris;
                }
                self.edges.get_mut(&place).unwrap().1 = self.bus.registry().stored_topics(edge);
            }
            (Step::Detach, Some(edge)) => {
                self.bus.disconnect(edge);
                self.edges.remove(&place);
                self.wanted.remove(&place);
            }
            (Step::Restore, Some(edge)) => {
                self.bus.disconnect(edge);
                let (known, stored) = self.edges.get_mut(&place).unwrap();
                let texts = stored.iter().map(String::as_str);
                *known = self.bus.restore(&decode_topics(texts).unwrap(), None, 7);
            }
            (Step::Publish(event), _) => self.publish(&event),
            (_, None) => {}
        }
        self.compare();
    }

    fn attach(&mut self, place: usize, wanted: Wanted) {
        let known = self.edges.get(&place).map(|(edge, _)| *edge);
        let edge = known.unwrap_or_else(|| self.bus.connect());
        let topics = wanted.topics().iter().cloned().collect();
        let follow = Follow::fresh(next(&self.bus, edge), topics);
        let reply = follow::accepted(&mut self.bus, edge, &follow.to_json());
        assert_eq!(*reply.persist(), Persist::All);
        self.edges
            .insert(place, (edge, self.bus.registry().stored_topics(edge)));
        self.wanted.insert(place, wanted);
    }

    fn publish(&mut self, event: &ServerEvent) {
        let mut wanted: Vec<EdgeId> = Vec::new();
        for (place, each) in &self.wanted {
            if each.accepts(event) {
                wanted.push(self.edges[place].0);
            }
        }
        wanted.sort_unstable();
        assert_eq!(self.bus.publish(event).edges(), wanted, "{event:?}");
    }

    /// The state after deltas equals the state after a full replacement.
    fn compare(&mut self) {
        let mut names = 0;
        let mut rebuilt = bus();
        for (place, wanted) in &self.wanted {
            let topics = wanted.topics();
            let held = self.bus.registry().topics(self.edges[place].0).unwrap();
            assert!(held.iter().eq(topics.iter()));
            names += topics.iter().map(Topic::name_bytes).sum::<usize>();
            rebuilt.restore(&topics, None, 1);
        }
        assert_eq!(self.bus.registry().name_bytes(), names);
        assert_eq!(self.bus.registry().attached(), self.wanted.len());
        assert_eq!(self.bus.wanted(), rebuilt.wanted());
        assert_eq!(self.reported.after(&mut self.bus), rebuilt.wanted());
    }
}

/// Returns the filter after a change, computed naively.
fn plainly(
    filter: &SubscriptionFilter,
    add: &SubscriptionFilter,
    drop: &SubscriptionFilter,
) -> SubscriptionFilter {
    fn of<N: Clone + PartialEq>(names: &[N], add: &[N], drop: &[N]) -> Vec<N> {
        let mut after: Vec<N> = names.to_vec();
        after.retain(|name| !drop.contains(name));
        for name in add {
            if !after.contains(name) {
                after.push(name.clone());
            }
        }
        after
    }
    let is = |is: bool, add: bool, drop: bool| add || (is && !drop);
    let (scope, add_scope, drop_scope) = (&filter.scope, &add.scope, &drop.scope);
    SubscriptionFilter {
        tools_list_changed: is(
            filter.tools_list_changed,
            add.tools_list_changed,
            drop.tools_list_changed,
        ),
        prompts_list_changed: is(
            filter.prompts_list_changed,
            add.prompts_list_changed,
            drop.prompts_list_changed,
        ),
        resources_list_changed: is(
            filter.resources_list_changed,
            add.resources_list_changed,
            drop.resources_list_changed,
        ),
        events_list_changed: is(
            filter.events_list_changed,
            add.events_list_changed,
            drop.events_list_changed,
        ),
        resource_subscriptions: of(
            &filter.resource_subscriptions,
            &add.resource_subscriptions,
            &drop.resource_subscriptions,
        ),
        task_ids: of(&filter.task_ids, &add.task_ids, &drop.task_ids),
        scope: Scope {
            groups: of(&scope.groups, &add_scope.groups, &drop_scope.groups),
            principals: of(
                &scope.principals,
                &add_scope.principals,
                &drop_scope.principals,
            ),
            disconnects: is(
                scope.disconnects,
                add_scope.disconnects,
                drop_scope.disconnects,
            ),
        },
    }
}

#[test]
fn deltas_equal_a_full_replacement() {
    check(vec((0..4usize, any_step()), 0..24), |steps| {
        let mut twin = Twin {
            bus: bus(),
            edges: BTreeMap::new(),
            wanted: BTreeMap::new(),
            reported: Reported::default(),
        };
        for (place, step) in steps {
            twin.step(place, step);
        }
        for (edge, _) in std::mem::take(&mut twin.edges).into_values() {
            twin.bus.disconnect(edge);
        }
        assert_eq!(
            (
                twin.bus.registry().name_bytes(),
                twin.bus.registry().attached()
            ),
            (0, 0)
        );
        assert_eq!(twin.bus.wanted(), SubscriptionFilter::default());
    });
}

#[test]
fn the_cost_of_a_change_depends_on_the_change_alone() {
    for held in [0, 1, 50_000] {
        let mut bus = bus();
        let edge = bus.connect();
        let names = (0..held).map(|number| uri(&format!("note://{number}")));
        attach(&mut bus, edge, &watching(names));
        let mut persisted = |add: &SubscriptionFilter, drop: &SubscriptionFilter| {
            let follow = follow::change(next(&bus, edge), add, drop).to_json();
            follow::accepted(&mut bus, edge, &follow).persist().clone()
        };
        let [one, other] = ["note://one-more", "note://another"].map(|name| watching([uri(name)]));
        let none = SubscriptionFilter::default();
        let changed = |add: &SubscriptionFilter, drop: &SubscriptionFilter| {
            let (add, drop) = (add.topics(), drop.topics());
            Persist::Delta(Delta { add, drop })
        };
        assert_eq!(persisted(&one, &none), changed(&one, &none));
        assert_eq!(persisted(&other, &one), changed(&other, &one));
        // A drop of a missing topic changes nothing.
        assert_eq!(persisted(&none, &one), Persist::Nothing);
    }
}

#[test]
fn a_large_interest_is_stored_in_bounded_parts() {
    let mut bus = bus();
    let edge = bus.connect();
    let names = (0..5_000).map(|number| uri(&format!("note://{number}/{}", "\"".repeat(150))));
    attach(&mut bus, edge, &watching(names));
    let stored = bus.registry().stored_topics(edge);
    assert!(stored.len() > 5, "{} parts", stored.len());
    assert!(stored.iter().all(|text| text.len() < 1 << 20));
    let topics = decode_topics(stored.iter().map(String::as_str));
    let again = bus.restore(&topics.unwrap(), None, 1);
    let [again, wanted] = [again, edge].map(|edge| bus.registry().topics(edge).unwrap());
    assert!(again.iter().eq(wanted.iter()));
    for broken in [&[][..], &["{}", "{"], &["{}", r#"{"add":["x"]}"#], &["[]"]] {
        decode_topics(broken.iter().copied()).unwrap_err();
    }
}

#[test]
fn edges_that_come_and_go_do_not_affect_others() {
    let steps = vec((0..4_u8, 0..40_usize), 1..200);
    check(steps, |steps| {
        let mut bus = bus();
        let event = ServerEvent::ResourceUpdated {
            uri: uri("note://a"),
        };
        let (mut edges, mut gone) = (Vec::new(), Vec::new());
        for (step, place) in steps {
            if step > 1 || edges.is_empty() {
                let edge = bus.connect();
                attach(&mut bus, edge, &watching([uri("note://a")]));
                edges.push(edge);
            } else {
                let edge = edges.remove(place % edges.len());
                bus.disconnect(edge);
                gone.push(edge);
            }
            assert_eq!(bus.publish(&event).edges(), edges);
        }
        assert_eq!(bus.registry().attached(), edges.len());
        assert!(
            gone.iter()
                .all(|edge| bus.registry().topics(*edge).is_none())
        );
        assert!(
            edges
                .iter()
                .all(|edge| bus.registry().seq(*edge) == Some(1))
        );
    });
}
