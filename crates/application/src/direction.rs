/// Which end data goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From the source to the sink.
    Forward,
    /// Back, where the sink's application sends too.
    Reverse,
}

impl Direction {
    /// What is added to the name of a flow in results.
    pub fn suffix(self) -> &'static str {
        match self {
            Direction::Forward => "",
            Direction::Reverse => "/reverse",
        }
    }
}
