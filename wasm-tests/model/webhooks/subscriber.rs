use mcp_listen::{
    clock::Millis,
    events::{
        EventName,
        error::CodeSet,
        webhook::{RequestedTtl, SubscribeRequest},
    },
    scope::Name,
};

use super::{log::Occurrence, matching::is_matched};

/// A subscriber, with one subscription.
#[derive(Debug)]
pub(super) struct Subscriber {
    number: usize,
    /// How often it has replaced its secret.
    pub(super) secret: u32,
    /// Its last call, until it gets a response.
    pub(super) call: Option<u32>,
}

impl Subscriber {
    pub(super) fn new(number: usize) -> Self {
        Self {
            number,
            secret: 0,
            call: None,
        }
    }

    pub(super) fn id(&self) -> Box<str> {
        format!("sub_{:032x}", self.number).into()
    }

    /// Two subscribers share a url, and so the consent of its endpoint, if they are one principal.
    pub(super) fn subscribe(&self) -> SubscribeRequest {
        let secret = format!("secret {}", self.secret);
        SubscribeRequest {
            id: self.id(),
            principal: format!("p{}", self.number / 4).into(),
            groups: self.is_tenant().then(group).into_iter().collect(),
            name: name(self.number),
            arguments: "{}".into(),
            url: self.url(),
            host: format!("h{}.example.com", self.number / 2).into(),
            is_allowed: false,
            secret: secret.clone().into(),
            secret_digest: secret.into(),
            codes: CodeSet::Sep,
            cursor: None,
            max_age_ms: None,
            ttl: RequestedTtl::Endless,
            challenge: format!("challenge {}", self.number).into(),
            total: 0,
            asked_at: Millis(1 << 52),
        }
    }

    pub(super) fn url(&self) -> Box<str> {
        format!("https://h{0}.example.com/{0}", self.number / 2).into()
    }

    pub(super) fn host(&self) -> usize {
        self.number / 2
    }

    fn is_tenant(&self) -> bool {
        !self.number.is_multiple_of(3)
    }

    /// Whether it receives the occurrence at a position.
    pub(super) fn receives(&self, position: u64, of: &Occurrence) -> bool {
        let is_own = of.name == name(self.number) && (of.group.is_none() || self.is_tenant());
        is_own && (self.number.is_multiple_of(2) || is_matched(position))
    }
}

/// One of two names.
pub(super) fn name(number: usize) -> EventName {
    EventName::new(["order.paid", "order.sent"][number % 2]).unwrap()
}

pub(super) fn group() -> Name {
    Name::new("tenant").unwrap()
}
