//! Reads captures: pcap, pcapng, tcpdump's text; plain or gzip; from files and pipes.
