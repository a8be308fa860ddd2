//! Writes captures: pcapng and pcap, with headers made from what a segment says.
