//! Addresses and ports, by number or by name.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Names that are kept, of hosts and of ports each.
const MOST_NAMES: usize = 65_536;
/// Names longer than any (RFC 1035 section 2.3.4).
const MAX_NAME_BYTES: usize = 255;
/// Hosts without an address get one of 240.0.0.0/4, which nobody has (RFC 1112 section 4), or of
/// 100::/64, which is to be thrown away (RFC 6666).
const RESERVED_V4: u32 = 0xf000_0000;
const RESERVED_V6: u128 = 0x0100 << 112;
/// Services without a number get those that hardly anything listens on, from 1.
const MOST_SERVICES: u16 = 1023;

/// Names that tcpdump takes from `/etc/services`, for what transfers are made with.
const SERVICES: [(&str, u16); 34] = [
    ("bgp", 179),
    ("commplex-link", 5001),
    ("commplex-main", 5000),
    ("discard", 9),
    ("domain", 53),
    ("echo", 7),
    ("chargen", 19),
    ("ftp", 21),
    ("ftp-data", 20),
    ("http", 80),
    ("http-alt", 8080),
    ("https", 443),
    ("imap", 143),
    ("imap2", 143),
    ("imaps", 993),
    ("ldap", 389),
    ("microsoft-ds", 445),
    ("mysql", 3306),
    ("nfs", 2049),
    ("ntp", 123),
    ("pop3", 110),
    ("pop3s", 995),
    ("postgresql", 5432),
    ("rsync", 873),
    ("shell", 514),
    ("smtp", 25),
    ("snmp", 161),
    ("ssh", 22),
    ("sunrpc", 111),
    ("targus-getdata1", 5201),
    ("telnet", 23),
    ("webcache", 8080),
    ("www", 80),
    ("x11", 6000),
];

/// One end as it is written.
#[derive(Debug)]
pub struct End<'a> {
    text: &'a str,
    is_v6: bool,
}

/// Takes an end as it stands in a line of IPv4 or of IPv6.
pub fn end(text: &str, is_v6: bool) -> End<'_> {
    End { text, is_v6 }
}

impl<'a> End<'a> {
    /// Whether a port may stand behind the address: it is no address without one.
    pub fn has_port_behind(&self) -> bool {
        self.text.parse::<IpAddr>().is_err() && self.text.contains('.')
    }

    fn parts(&self, has_port: bool) -> (&'a str, &'a str) {
        match self.text.rsplit_once('.') {
            Some((host, port)) if has_port => (host, port),
            _ => (self.text, ""),
        }
    }
}

/// Names of hosts and services that stand for numbers.
#[derive(Default)]
pub struct Names {
    hosts: BTreeMap<String, IpAddr>,
    services: BTreeMap<String, u16>,
}

impl Names {
    /// The name that stood where `address` is given out, if it was one.
    pub fn host(&self, address: IpAddr) -> Option<&str> {
        self.hosts.iter().find(|(_, of_name)| **of_name == address).map(|(name, _)| name.as_str())
    }

    /// The address of an end: its own, or one made up for its name.
    pub fn address(&mut self, end: &End, has_port: bool) -> SocketAddr {
        let (host, port) = end.parts(has_port);
        let address = host.parse().unwrap_or_else(|_| self.of_host(host, end.is_v6));
        let port = match port.parse() {
            Ok(port) => port,
            Err(_) if port.is_empty() => 0,
            Err(_) => self.of_service(port),
        };
        SocketAddr::new(address, port)
    }

    fn of_host(&mut self, name: &str, is_v6: bool) -> IpAddr {
        if let Some(address) = self.hosts.get(name) {
            return *address;
        }
        let is_room = self.hosts.len() < MOST_NAMES && name.len() <= MAX_NAME_BYTES;
        let number = if is_room {
            self.hosts.len() as u32 + 1
        } else {
            // Names that are not kept still get the same address each time.
            hash(name) & 0x07ff_ffff | 0x0800_0000
        };
        let address = if is_v6 {
            IpAddr::V6(Ipv6Addr::from(RESERVED_V6 | u128::from(number)))
        } else {
            IpAddr::V4(Ipv4Addr::from(RESERVED_V4 | number))
        };
        if is_room {
            self.hosts.insert(name.to_owned(), address);
        }
        address
    }

    fn of_service(&mut self, name: &str) -> u16 {
        if let Some((_, port)) = SERVICES.iter().find(|(known, _)| *known == name) {
            return *port;
        }
        if let Some(port) = self.services.get(name) {
            return *port;
        }
        if self.services.len() < usize::from(MOST_SERVICES) && name.len() <= MAX_NAME_BYTES {
            let port = self.services.len() as u16 + 1;
            self.services.insert(name.to_owned(), port);
            return port;
        }
        (hash(name) % u32::from(MOST_SERVICES)) as u16 + 1
    }
}

/// FNV-1a, 32 bits.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names() {
        let mut names = Names::default();
        let mut address = |text| names.address(&end(text, text.contains(':')), true).to_string();
        assert_eq!(address("60.10.10.2.57464"), "60.10.10.2:57464");
        assert_eq!(address("2001:db8::1.443"), "[2001:db8::1]:443");
        assert_eq!(address("10.0.0.1.http"), "10.0.0.1:80");
        assert_eq!(address("alpha.example.org.44000"), "240.0.0.1:44000");
        assert_eq!(address("beta.strange"), "240.0.0.2:1");
        assert_eq!(address("alpha.example.org.ssh"), "240.0.0.1:22");
        assert_eq!(names.host(Ipv4Addr::new(240, 0, 0, 2).into()), Some("beta"));
        assert_eq!(names.address(&end("10.0.0.1", false), false).to_string(), "10.0.0.1:0");
    }
}
