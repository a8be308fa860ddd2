//! `[capture]`: which packets are written to files, and how.

use fairway_capture::write::Format;
use fairway_units::Bytes;
use serde_json::Value;

use super::keys::Absent::Default as Otherwise;
use super::keys::{Key, Kind, Section, keys};
use super::reader::{Name, Readable, Table, show};

/// Where packets are captured, by the names of [`Places`].
pub(super) const PLACES: [&str; 4] = ["nothing", "hosts", "links", "everything"];
/// How much of a packet is kept if only headers are.
pub(super) const HEADERS: &str = "headers";
/// Places that one experiment may name.
const MAX_NAMES: usize = 1000;
/// Least that can be kept: the headers of any packet, options of TCP included (Ethernet 14, IPv6
/// 40, TCP 60).
const MIN_SNAP: u64 = 114;
/// What keeps every packet whole (tcpdump's own limit).
const MAX_SNAP: u64 = 262_144;

/// `[capture]`.
pub(super) static CAPTURE: Section = Section::plain("[capture]", &[KEYS]);

static KEYS: &[Key] = keys! {
    "at": Kind::Places, Otherwise(r#""nothing""#), r#"["s0", "bottleneck"]"# =>
        "Where packets are captured: \"nothing\", at the \"hosts\", at both ends of all \"links\", at \"everything\", or at places by name. A host is \"s0\", a link \"bottleneck\", one end of it \"bottleneck@left\".";
    "files": Kind::Choice { thing: "arrangement of files", names: file_names },
        Otherwise(r#""each""#), r#""one""# =>
        "One file for each place, or one for all with an interface for each.";
    "format": Kind::Choice { thing: "format of captures", names: format_names },
        Otherwise(r#""pcapng""#), r#""pcap""# =>
        "pcapng, which says what was dropped and lost, or pcap for older programs. Both have nanoseconds.";
    "snap": Kind::SizeOr(HEADERS), Otherwise(r#""headers""#), r#""200 bytes""# =>
        "Most bytes recorded of each packet, from its Ethernet header on; payloads are zeros.";
};

/// Which packets are captured, and how.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CaptureSettings {
    /// Where.
    pub at: Places,
    /// Whether all places share one file.
    pub is_one_file: bool,
    /// What kind of files.
    pub format: Format,
    /// Most bytes kept of each packet; headers alone without.
    pub snap: Option<Bytes>,
}

/// Where packets are captured.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Places {
    /// Nowhere.
    #[default]
    Nothing,
    /// At every host.
    Hosts,
    /// At both ends of every link.
    Links,
    /// At both.
    Everything,
    /// At these.
    Named(Vec<String>),
}

/// What a place is to a [`Places`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlaceKind {
    /// A host.
    Host,
    /// One end of a link.
    LinkEnd,
}

/// What divides the name of a link from that of the node at its end.
pub const AT: char = '@';

impl CaptureSettings {
    /// Whether anything is captured.
    pub fn is_on(&self) -> bool {
        self.at != Places::Nothing
    }
}

impl Places {
    /// Whether a place is among them. `name` is that of a host, or of a link, [`AT`] and a node.
    pub fn have(&self, kind: PlaceKind, name: &str) -> bool {
        match self {
            Places::Nothing => false,
            Places::Hosts => kind == PlaceKind::Host,
            Places::Links => kind == PlaceKind::LinkEnd,
            Places::Everything => true,
            Places::Named(names) => {
                let link = name.rsplit_once(AT).map(|(link, _)| link);
                let link = link.filter(|_| kind == PlaceKind::LinkEnd);
                names.iter().any(|named| named == name || Some(named.as_str()) == link)
            }
        }
    }

    /// What is wrong with them in a network of these places, if anything is.
    pub fn check<'a>(
        &self,
        all: impl Iterator<Item = (PlaceKind, &'a str)> + Clone,
    ) -> Result<(), String> {
        let Places::Named(names) = self else { return Ok(()) };
        for name in names {
            let this = Places::Named(vec![name.clone()]);
            if !all.clone().any(|(kind, place)| this.have(kind, place)) {
                let some = some(all.map(|(_, place)| place));
                return Err(format!("there is no place \"{name}\"; there is {some}"));
            }
        }
        Ok(())
    }
}

/// The first names of many.
fn some<'a>(mut names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let listed: Vec<String> =
        names.by_ref().take(SHOWN).map(|name| format!("\"{name}\"")).collect();
    let more = if names.next().is_some() { " and others" } else { "" };
    format!("{}{more}", listed.join(", "))
}

impl Readable for Places {
    fn read(value: &Value, _: &Kind) -> Result<Self, String> {
        let expected = || {
            let all = PLACES.map(|name| format!("\"{name}\"")).join(", ");
            format!(
                "expected {all} or a list of 1 to {MAX_NAMES} names of places, got {}; write \
                 \"hosts\" or [\"bottleneck\"]",
                show(value)
            )
        };
        match value {
            Value::String(name) => match name.as_str() {
                "nothing" => Ok(Places::Nothing),
                "hosts" => Ok(Places::Hosts),
                "links" => Ok(Places::Links),
                "everything" => Ok(Places::Everything),
                _ => Err(expected()),
            },
            Value::Array(names) if (1..=MAX_NAMES).contains(&names.len()) => {
                let names = names.iter().map(|name| String::read(name, &Kind::Text));
                names.collect::<Result<_, _>>().map(Places::Named)
            }
            _ => Err(expected()),
        }
    }
}

/// How much of a packet is kept.
struct Snap(Option<Bytes>);

impl Readable for Snap {
    fn read(value: &Value, kind: &Kind) -> Result<Self, String> {
        if value.as_str().map(str::trim) == Some(HEADERS) {
            return Ok(Snap(None));
        }
        let bytes =
            Bytes::read(value, kind).map_err(|message| format!("{message}, or \"{HEADERS}\""))?;
        match bytes.get() {
            MIN_SNAP..=MAX_SNAP => Ok(Snap(Some(bytes))),
            _ => Err(format!(
                "expected {MIN_SNAP} to {MAX_SNAP} bytes, so that headers are whole, got {bytes}; \
                 try \"{HEADERS}\" or \"200 bytes\""
            )),
        }
    }
}

fn file_names() -> Vec<&'static str> {
    vec!["each", "one"]
}

fn format_names() -> Vec<&'static str> {
    Format::ALL.iter().map(|(name, _)| *name).collect()
}

/// Reads `[capture]`, without which nothing is captured.
pub(super) fn read(experiment: &Table) -> CaptureSettings {
    let Some(table) = experiment.table("capture") else { return CaptureSettings::default() };
    table.refuse_unknown_keys();
    let name = |key| table.read::<Name>(key).map(|Name(name)| name);
    let settings = CaptureSettings {
        at: table.read("at").unwrap_or_default(),
        is_one_file: name("files") == Some("one"),
        format: name("format").and_then(Format::from_name).unwrap_or_default(),
        snap: table.read("snap").and_then(|Snap(snap)| snap),
    };
    if settings.is_one_file && settings.format == Format::Pcap {
        let message = "a pcap file holds one place; write files = \"each\" or format = \"pcapng\"";
        table.refuse("files", message);
    }
    settings
}
