//! What a bus reports of a change of what its streams subscribe to.

use std::collections::BTreeSet;

use mcp_listen::{bus::Bus, filter::SubscriptionFilter, topic::Topic};
#[cfg(target_arch = "wasm32")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{
    any::uri,
    delta::{attach, bus, change, watching},
};

/// What is wanted, by the changes that a bus has reported.
#[derive(Default)]
pub(crate) struct Reported(BTreeSet<Topic>);

impl Reported {
    /// Returns what is wanted after the changes that the bus reports now.
    pub(crate) fn after(&mut self, bus: &mut Bus) -> SubscriptionFilter {
        match bus.poll_wanted() {
            None => self.0 = bus.wanted().topics().into_iter().collect(),
            Some(changed) => {
                for topic in changed.topics() {
                    self.0.remove(&topic);
                    if bus.wants(&topic) {
                        self.0.insert(topic);
                    }
                }
            }
        }
        let topics: Vec<Topic> = self.0.iter().cloned().collect();
        topics.into()
    }
}

#[test]
fn changes_of_what_is_wanted_are_reported_from_the_first_question_on() {
    let mut bus = bus();
    let [one, other] = [bus.connect(), bus.connect()];
    let names = (0..1_000).map(|number| uri(&format!("note://{number}")));
    attach(&mut bus, one, &watching(names));
    assert_eq!(bus.poll_wanted(), None);
    let [gone, new] = ["note://0", "note://new"].map(uri);
    change(
        &mut bus,
        one,
        &watching([new.clone()]),
        &watching([gone.clone()]),
    );
    assert_eq!(bus.poll_wanted(), Some(watching([gone, new.clone()])));
    // Another edge with the topic changes nothing.
    attach(&mut bus, other, &watching([new]));
    bus.disconnect(other);
    assert_eq!(bus.poll_wanted(), Some(SubscriptionFilter::default()));
}
