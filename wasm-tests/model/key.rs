use mcp_listen::{
    event::ServerEvent,
    filter::SubscriptionFilter,
    task::{Task, TaskId},
    uri::Uri,
};

/// One of several keys.
pub(crate) fn one_of(keys: impl Iterator<Item = Key>, number: u8) -> Option<Key> {
    let keys: Vec<Key> = keys.collect();
    let place = usize::from(number).checked_rem(keys.len())?;
    keys.get(place).copied()
}

/// What can change: three lists, three resources and two tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(usize);

/// A set of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keys(u8);

pub(crate) const KEYS: usize = NAMES.len();

impl Key {
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..KEYS).map(Self)
    }

    pub(crate) fn index(self) -> usize {
        self.0
    }

    pub(crate) fn name(self) -> &'static str {
        NAMES[self.0]
    }

    /// The bytes that its name counts: its length, and 64 more.
    pub(crate) fn name_bytes(self) -> usize {
        if self.0 < FIRST_URI {
            0
        } else {
            self.name().len() + 64
        }
    }

    pub(crate) fn is_resource(self) -> bool {
        (FIRST_URI..FIRST_TASK).contains(&self.0)
    }

    pub(crate) fn is_task(self) -> bool {
        self.0 >= FIRST_TASK
    }

    pub(crate) fn uri(self) -> Uri {
        Uri::new(self.name(), 16).unwrap()
    }

    /// The change of this key that is published as event `number`; only the state of a task
    /// contains the number.
    pub(crate) fn event(self, number: usize) -> ServerEvent {
        match self.0 {
            0 => ServerEvent::ToolsListChanged,
            1 => ServerEvent::PromptsListChanged,
            2 => ServerEvent::ResourcesListChanged,
            FIRST_TASK.. => self.state(number),
            _ => ServerEvent::ResourceUpdated { uri: self.uri() },
        }
    }

    pub(crate) fn of(event: &ServerEvent) -> Self {
        let named = |name: &str| Self(NAMES.iter().position(|known| *known == name).unwrap());
        match event {
            ServerEvent::ToolsListChanged => Self(0),
            ServerEvent::PromptsListChanged => Self(1),
            ServerEvent::ResourcesListChanged => Self(2),
            ServerEvent::ResourceUpdated { uri } => named(uri),
            ServerEvent::TaskStatus { task } => named(task.id()),
            _ => panic!("an event of a kind that the model does not know: {event:?}"),
        }
    }

    /// Whether a stream with this filter delivers it.
    pub(crate) fn is_honored(self, honored: &SubscriptionFilter) -> bool {
        match self.0 {
            0 => honored.tools_list_changed,
            1 => honored.prompts_list_changed,
            2 => honored.resources_list_changed,
            FIRST_TASK.. => honored.task_ids.iter().any(|id| **id == *self.name()),
            _ => {
                let mut uris = honored.resource_subscriptions.iter();
                uris.any(|uri| **uri == *self.name())
            }
        }
    }

    pub(crate) fn of_uri(uri: &Uri) -> Self {
        Self(NAMES.iter().position(|known| **known == **uri).unwrap())
    }

    fn state(self, number: usize) -> ServerEvent {
        let name = self.name();
        let text = format!(r#"{{"taskId":"{name}","status":"working","ttlMs":{number}}}"#);
        ServerEvent::TaskStatus {
            task: Task::from_json(&text).unwrap(),
        }
    }
}

/// The number that [`Key::event`] wrote into the state of a task.
pub(crate) fn number_of(event: &ServerEvent) -> Option<usize> {
    let ServerEvent::TaskStatus { task } = event else {
        return None;
    };
    let (_, number) = task.members().split_once("\"ttlMs\":")?;
    number.parse().ok()
}

impl Keys {
    /// The keys of a bit mask.
    pub(crate) fn of_mask(mask: u8) -> Self {
        Self(mask)
    }

    /// The keys of a bit mask; all of them if it names none.
    pub(crate) fn or_all(mask: u8) -> Self {
        Self(if mask == 0 { u8::MAX } else { mask })
    }

    /// The keys that are among the others, or all of the others.
    pub(crate) fn among(self, others: Self) -> Self {
        let common = self.0 & others.0;
        if common == 0 { others } else { Self(common) }
    }

    /// The keys without resources and tasks.
    pub(crate) fn lists(self) -> Self {
        Self(self.0 & ((1 << FIRST_URI) - 1))
    }

    pub(crate) fn resources(self) -> impl Iterator<Item = Key> {
        self.iter().filter(|key| key.is_resource())
    }

    /// The keys without tasks; the lists if nothing else remains.
    pub(crate) fn without_tasks(self) -> Self {
        let without = self.0 & ((1 << FIRST_TASK) - 1);
        Self(if without == 0 {
            (1 << FIRST_URI) - 1
        } else {
            without
        })
    }

    pub(crate) fn with(self, key: Key) -> Self {
        Self(self.0 | 1 << key.0)
    }

    pub(crate) fn without(self, key: Key) -> Self {
        Self(self.0 & !(1 << key.0))
    }

    pub(crate) fn has(self, key: Key) -> bool {
        self.0 & 1 << key.0 != 0
    }

    pub(crate) fn iter(self) -> impl Iterator<Item = Key> {
        Key::all().filter(move |key| self.has(*key))
    }

    pub(crate) fn filter(self) -> SubscriptionFilter {
        SubscriptionFilter {
            tools_list_changed: self.has(Key(0)),
            prompts_list_changed: self.has(Key(1)),
            resources_list_changed: self.has(Key(2)),
            resource_subscriptions: self.resources().map(Key::uri).collect(),
            task_ids: self
                .iter()
                .filter(|key| key.is_task())
                .map(|key| TaskId::new(key.name(), 16).unwrap())
                .collect(),
            ..SubscriptionFilter::default()
        }
    }

    pub(crate) fn names(self) -> String {
        let names: Vec<_> = self.iter().map(Key::name).collect();
        names.join(" ")
    }
}

const NAMES: [&str; 8] = ["tools", "prompts", "resources", "a:", "b:", "c:", "t", "u"];
const FIRST_URI: usize = 3;
const FIRST_TASK: usize = 6;
