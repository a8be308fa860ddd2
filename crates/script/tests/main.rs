//! Scripts of the repository, their verdicts, and texts from outside.

mod documentation;
mod from_outside;
mod scripts;
mod verdicts;
