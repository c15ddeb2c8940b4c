use super::{Topic, Topics};

/// The topics that were added to an index or removed from it. It records nothing before the first
/// [`ChangedTopics::take`].
#[derive(Debug, Default)]
pub(crate) struct ChangedTopics(Option<Topics>);

impl ChangedTopics {
    // Each index that is generated calls it.
    #[inline(never)]
    pub(super) fn record(&mut self, topic: &Topic) {
        if let Some(topics) = &mut self.0 {
            topics.insert(topic.clone());
        }
    }

    /// Returns what was recorded since the last call; `None` at the first one.
    pub(crate) fn take(&mut self) -> Option<Topics> {
        self.0.replace(Topics::default())
    }
}
