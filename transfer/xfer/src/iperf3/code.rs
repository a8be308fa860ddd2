//! iperf3's numbers of what went wrong, which a server sends behind `SERVER_ERROR`
//! (`iperf_api.h`).

/// Numbers that this server sends.
pub(super) const STREAMS: i32 = 6;
pub(super) const BLOCK_SIZE: i32 = 7;
pub(super) const BUFFER_SIZE: i32 = 8;
pub(super) const SEGMENT_SIZE: i32 = 10;
pub(super) const OMIT: i32 = 12;
pub(super) const BURST: i32 = 15;
pub(super) const DATAGRAM_SIZE: i32 = 20;
pub(super) const TOS: i32 = 21;
pub(super) const TOO_LONG: i32 = 37;
pub(super) const DURATION: i32 = 5;
pub(super) const MESSAGE: i32 = 110;
pub(super) const PARAMETERS: i32 = 114;
pub(super) const RESULTS: i32 = 117;
pub(super) const FLOW_LABEL: i32 = 127;
pub(super) const PROTOCOL: i32 = 131;
pub(super) const CONGESTION: i32 = 134;
pub(super) const SILENCE: i32 = 144;
pub(super) const EXPIRED: i32 = 160;
pub(super) const STREAM_CONNECTION: i32 = 203;

/// What a number means, in words that follow "the server refuses: ".
pub(super) fn words(code: i32) -> String {
    let words = match code {
        DURATION => "the duration is too long",
        STREAMS => {
            "too many parallel streams; iperf3 itself takes 128 at most, a server of Fairway as \
             many as its file descriptors allow"
        }
        BLOCK_SIZE => "the block size is too large (at most 1 MiB)",
        BUFFER_SIZE => "the socket buffer is too large",
        SEGMENT_SIZE => "the segment size is too large",
        OMIT => "the omitted time is too long",
        BURST => "the burst is too large",
        17..=18 | PROTOCOL => "it does not have this protocol",
        DATAGRAM_SIZE => "the size of datagrams is out of range (16 to 65507 bytes)",
        TOS => "the type of service is out of range",
        27 => "the rates of all streams together are above its limit",
        TOO_LONG => "the test is longer than it allows",
        PARAMETERS => "it could not read the parameters",
        RESULTS => "it could not read the results",
        MESSAGE => "it did not understand a message",
        123 => "it cannot set the segment size",
        124 => "it cannot set the socket buffer; see net.core.rmem_max and wmem_max there",
        FLOW_LABEL => "it cannot set the flow label",
        CONGESTION => "it cannot set this congestion control",
        142 => "it wants a user and a password, which Fairway does not send",
        SILENCE => "nothing came over the data connections for too long",
        EXPIRED => "the test did not end in time",
        200..=208 => "a data connection failed",
        _ => return format!("iperf3's error number {code}"),
    };
    format!("{words} (iperf3's error number {code})")
}
