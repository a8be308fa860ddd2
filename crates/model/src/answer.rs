//! What a model says, and whether it may say it there.

/// What a model says of one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer<T> {
    /// What it says.
    pub value: T,
    /// Why it may not be believed there, in a few words; none inside the range that its source states.
    pub outside: Option<&'static str>,
}

impl<T> Answer<T> {
    /// An answer that may be believed unless `outside` says why not.
    pub fn new(value: T, outside: Option<&'static str>) -> Self {
        Self { value, outside }
    }

    /// Whether the model holds there, as far as its source says.
    pub fn in_range(&self) -> bool {
        self.outside.is_none()
    }
}
