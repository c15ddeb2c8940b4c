use crate::event::ServerEvent;

/// The cached results that a change makes stale at once, however long they were to be fresh
/// (2026-07-28, Caching: Interaction with Notifications).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale<'a> {
    /// The methods whose results are stale, whatever their other parameters.
    pub methods: &'static [&'static str],
    /// The one resource whose result is stale; `None`: all results of the methods. A change of a
    /// part may have been told under the part's own URI.
    pub uri: Option<&'a str>,
}

impl<'a> Stale<'a> {
    /// What `event` makes stale.
    pub fn by(event: &'a ServerEvent) -> Self {
        let (methods, uri): (&[&str], _) = match event {
            ServerEvent::ToolsListChanged => (&["tools/list"], None),
            ServerEvent::PromptsListChanged => (&["prompts/list"], None),
            ServerEvent::ResourcesListChanged => {
                (&["resources/list", "resources/templates/list"], None)
            }
            ServerEvent::ResourceUpdated { uri } => (&["resources/read"], Some(&**uri)),
            // The state of a task is no cached result: it is told whole.
            // Clients hear of neither audiences nor revocations.
            ServerEvent::TaskStatus { .. }
            | ServerEvent::ForAudience { .. }
            | ServerEvent::Revoked { .. } => (&[], None),
        };
        Self { methods, uri }
    }
}
