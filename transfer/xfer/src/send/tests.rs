use std::os::fd::OwnedFd;

use super::session::Session;
use proptest::prelude::*;

use super::blocks::Block;
use super::state::{Lane, Origin, State, Task};
use super::*;
use crate::auth::Identity;
use crate::measure::Subject;
use crate::patience::Patience;
use crate::store::{Blocks, Stat};
use crate::wire::messages::{Kind, Offered, Run, ToReceiver, ToSender};

/// More than a thread that was woken needs, however busy the machine is.
const LONG: Duration = Duration::from_secs(60);

/// A state in which two files were offered, of four blocks and of one.
fn offered() -> State {
    let token = Identity::new().unwrap().token().to_string();
    let settings = SendOptions::new("nowhere", "receiver", token).check().unwrap();
    let mut state = State::new(settings.queue(), Patience::new(settings.patience));
    for bytes in [4 << 20, 5] {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let stat = Stat::of(&file.as_file().metadata().unwrap());
        let kind = Kind::File { bytes: Some(bytes) };
        let offered = Offered { name: vec![b'a'], kind, mode: 0, modified: None, hole_bytes: 0 };
        let (path, blocks) = (file.path().to_owned(), Blocks::of(bytes));
        state.offer(offered, Origin::Disk { path, stat, blocks });
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_words_renew_patience_more_often_than_there_are_answers(
        words in prop::collection::vec((0..9_u8, 0..3_u32, 0..6_u32), 0..300),
    ) {
        let mut state = offered();
        state.lanes.insert(0, Lane::default());
        let mut renewed = 0;
        for (word, file, block) in words {
            let before = state.patience.latest();
            // A clock that stands still would hide what is renewed.
            while Instant::now() == before {}
            if let Task::Carry(run, _) = state.take(0, 1) {
                for index in run.first..run.first + run.count {
                    state.queue.hashed(Block { file: run.file, index }, [1; 32]);
                }
            }
            let message = match word {
                0 => ToSender::Ready { file },
                1 => ToSender::Claims { file, sums: vec![(block, [7; 32]); 5] },
                2 => ToSender::Arrived(vec![Run { file, first: block, count: u32::MAX }; 50]),
                3 => ToSender::Arrived(vec![Run { file, first: block, count: 1 }]),
                4 => ToSender::Arrived(vec![]),
                5 => ToSender::Bad { file, block },
                6 => ToSender::Lost { connection: block, why: String::new() },
                7 => ToSender::Stored { file },
                _ => {
                    state.reconnected();
                    state.lanes.insert(0, Lane::default());
                    ToSender::Ready { file }
                }
            };
            let follow_up = state.handle(message);
            follow_up.whole.into_iter().for_each(|file| state.finish(file));
            renewed += u32::from(state.patience.latest() > before);
            // What is to be said does not grow with what is heard.
            prop_assert!(state.outbox.len() <= 2, "{:?}", state.outbox);
        }
        // Ready, stored and four blocks, or one; as many claims as blocks.
        prop_assert!(renewed <= 2 + 4 + 2 + 1 + 5, "{} times", renewed);
    }
}

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
