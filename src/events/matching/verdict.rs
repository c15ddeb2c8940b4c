use alloc::{boxed::Box, vec::Vec};

use crate::{
    events::{MAX_DATA_BYTES, MAX_DEPTH},
    json::{self, Node, Value},
};

/// What a function of the server decided about one occurrence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The subscription receives it.
    Passed,
    /// It does not.
    Skipped,
    /// It receives it with another payload, a compact JSON object.
    Changed(Box<str>),
    /// The function failed.
    Failed,
}

/// Reads a list of verdicts: `true`, `false`, `{"data":OBJECT}`, and anything else for a failure.
/// `None` if the text is not a JSON array.
pub fn verdicts(text: &str) -> Option<Vec<Verdict>> {
    let document = json::read(text.as_bytes(), MAX_DEPTH + 2).ok()?;
    let verdicts = document.root.as_array()?.iter();
    Some(verdicts.map(Verdict::from_node).collect())
}

/// Reads the verdicts of several classes, `[{"class":N,"verdicts":[...]}]`. `None` if the text is
/// not such a list.
pub fn judged(text: &str) -> Option<Vec<(u32, Vec<Verdict>)>> {
    let document = json::read(text.as_bytes(), MAX_DEPTH + 4).ok()?;
    let classes = document.root.as_array()?.iter().map(|node| {
        let class = u32::try_from(node.get("class")?.as_u53()?).ok()?;
        let verdicts = node.get("verdicts")?.as_array()?.iter();
        Some((class, verdicts.map(Verdict::from_node).collect()))
    });
    classes.collect()
}

impl Verdict {
    /// Reads one verdict.
    pub(crate) fn from_node(node: &Node<'_>) -> Self {
        match &node.value {
            Value::Bool(true) => Self::Passed,
            Value::Bool(false) => Self::Skipped,
            Value::Object(object) => Self::changed(object.get("data")),
            _ => Self::Failed,
        }
    }

    fn changed(data: Option<&Node<'_>>) -> Self {
        let data = data.filter(|data| data.as_object().is_some());
        let data = data.map(json::to_compact);
        match data.filter(|data| data.len() <= MAX_DATA_BYTES) {
            Some(data) => Self::Changed(data.into_boxed_str()),
            None => Self::Failed,
        }
    }
}
