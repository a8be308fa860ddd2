//! The protocol of iperf3, as client and as server.
