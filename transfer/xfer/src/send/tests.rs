use std::os::fd::OwnedFd;

use super::session::Session;
use super::state::State;
use super::*;
use crate::auth::Identity;
use crate::measure::Subject;
use crate::wire::messages::{ToReceiver, ToSender};

/// More than a thread that was woken needs, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

#[test]
fn empty_standard_input_goes_again_to_a_receiver_that_was_started_again() {
    let token = Identity::new().unwrap().token().to_string();
    let settings = SendOptions::new("-", "receiver", token).check().unwrap();
    let empty = OwnedFd::from(tempfile::tempfile().unwrap());
    let subject = Subject::new("a test", "transfer", "transfer");
    let meter = Meter::start(subject, &Control::new()).unwrap();
    let session = Arc::new(Session::new(settings, Some(empty), Control::new(), meter));
    let finish = |state: &mut State| {
        let is_finish = |word: &ToReceiver| matches!(word, ToReceiver::Finish { file: 0, .. });
        state.outbox.iter().any(is_finish).then_some(())
    };
    for receiver in ["the first receiver", "the second receiver"] {
        assert!(control::page(&session).unwrap().is_some(), "offered to {receiver}");
        let file = session.handle(ToSender::Ready { file: 0 }).unwrap();
        session.read_input(file);
        assert_eq!(session.wait_for_message(LONG, finish), Some(()), "finished at {receiver}");
        session.restart();
    }
}
