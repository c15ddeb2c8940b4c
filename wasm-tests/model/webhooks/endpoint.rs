use std::collections::BTreeMap;

use mcp_listen::events::webhook::{EndpointResponse, Failure, MessageKind, Outcome, Post};

use crate::seed::Seed;

use super::plan::Plan;

/// The endpoints of all subscribers.
#[derive(Debug)]
pub(super) struct Endpoints {
    choices: Seed,
    /// How often each message failed while its endpoint was there.
    failures: BTreeMap<(Box<str>, Box<str>), u32>,
    is_calm: bool,
}

/// What an endpoint did with a message.
#[derive(Debug)]
pub(super) struct Handled {
    /// What the deliverer learns.
    pub(super) outcome: Outcome,
    /// Whether the endpoint has the message, or does not want it.
    pub(super) is_done: bool,
}

impl Endpoints {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            choices: Seed::new(seed ^ 0xE4D),
            failures: BTreeMap::new(),
            is_calm: false,
        }
    }

    /// Lets no more messages fail.
    pub(super) fn calm(&mut self) {
        self.is_calm = true;
    }

    pub(super) fn handle(&mut self, post: &Post, plan: &Plan, now: u64) -> Handled {
        if self.is_calm {
            return accept(post);
        }
        if plan.away.iter().any(|away| (away.0..away.1).contains(&now)) {
            return failed(Outcome::Failure(Failure::ConnectionRefused));
        }
        if self.chance(plan.declines) && post.kind != MessageKind::Verification {
            return Handled {
                outcome: status(410),
                is_done: true,
            };
        }
        let key = (post.subscription.clone(), post.message.clone());
        let count = self.failures.entry(key).or_default();
        if *count < plan.max_failures && self.choices.next() % 1_000 < plan.fails {
            *count += 1;
            return self.fail(post);
        }
        accept(post)
    }

    /// Fails in one of many ways. The endpoint may have the message all the same.
    fn fail(&mut self, post: &Post) -> Handled {
        match self.choices.below(5) {
            0 => failed(Outcome::Failure(Failure::Timeout)),
            1 => failed(status(503)),
            2 => failed(status(302)),
            3 => Handled {
                outcome: Outcome::Failure(Failure::Timeout),
                ..accept(post)
            },
            _ => failed(status(500)),
        }
    }

    fn chance(&mut self, chance: u64) -> bool {
        self.choices.next() % 1_000 < chance
    }
}

fn accept(post: &Post) -> Handled {
    let challenge = post.body.split("\"challenge\":").nth(1);
    let body = challenge.map_or_else(String::new, |rest| format!("{{\"challenge\":{rest}"));
    Handled {
        outcome: Outcome::Response(EndpointResponse {
            status: 200,
            retry_after_ms: None,
            body: body.into(),
        }),
        is_done: true,
    }
}

fn failed(outcome: Outcome) -> Handled {
    Handled {
        outcome,
        is_done: false,
    }
}

fn status(status: u16) -> Outcome {
    Outcome::Response(EndpointResponse {
        status,
        retry_after_ms: None,
        body: "".into(),
    })
}
