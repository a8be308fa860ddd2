//! The states that keep both ends of a test in step.

/// One byte on the control connection. Numbers as in iperf3's `iperf_api.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    TestStart,
    TestRunning,
    TestEnd,
    ParamExchange,
    CreateStreams,
    ServerTerminate,
    ClientTerminate,
    ExchangeResults,
    DisplayResults,
    IperfStart,
    IperfDone,
    AccessDenied,
    /// The server could not do it; two numbers follow.
    ServerError,
}

const BYTES: [(State, i8, &str); 13] = [
    (State::TestStart, 1, "TEST_START"),
    (State::TestRunning, 2, "TEST_RUNNING"),
    (State::TestEnd, 4, "TEST_END"),
    (State::ParamExchange, 9, "PARAM_EXCHANGE"),
    (State::CreateStreams, 10, "CREATE_STREAMS"),
    (State::ServerTerminate, 11, "SERVER_TERMINATE"),
    (State::ClientTerminate, 12, "CLIENT_TERMINATE"),
    (State::ExchangeResults, 13, "EXCHANGE_RESULTS"),
    (State::DisplayResults, 14, "DISPLAY_RESULTS"),
    (State::IperfStart, 15, "IPERF_START"),
    (State::IperfDone, 16, "IPERF_DONE"),
    (State::AccessDenied, -1, "ACCESS_DENIED"),
    (State::ServerError, -2, "SERVER_ERROR"),
];

impl State {
    /// The state that a byte means, if it means one.
    pub fn of(byte: u8) -> Option<State> {
        let found = BYTES.iter().find(|(_, number, _)| number.cast_unsigned() == byte);
        found.map(|(state, ..)| *state)
    }

    pub fn byte(self) -> u8 {
        self.entry().1.cast_unsigned()
    }

    /// Its name in iperf3.
    pub fn name(self) -> &'static str {
        self.entry().2
    }

    fn entry(self) -> &'static (State, i8, &'static str) {
        // The test below holds that every state is in the table.
        BYTES.iter().find(|(state, ..)| *state == self).unwrap_or(&BYTES[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_mean_states_and_back() {
        for (byte, name) in [
            (1, "TEST_START"),
            (2, "TEST_RUNNING"),
            (4, "TEST_END"),
            (9, "PARAM_EXCHANGE"),
            (10, "CREATE_STREAMS"),
            (11, "SERVER_TERMINATE"),
            (12, "CLIENT_TERMINATE"),
            (13, "EXCHANGE_RESULTS"),
            (14, "DISPLAY_RESULTS"),
            (15, "IPERF_START"),
            (16, "IPERF_DONE"),
            (255, "ACCESS_DENIED"),
            (254, "SERVER_ERROR"),
        ] {
            let state = State::of(byte).unwrap();
            assert_eq!((state.byte(), state.name()), (byte, name));
        }
        assert_eq!((0..=255).filter(|byte| State::of(*byte).is_some()).count(), 13);
    }
}
