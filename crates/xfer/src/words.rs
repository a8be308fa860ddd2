//! Numbers as people read them in messages.

/// A size in decimal units, rounded to three digits: "5.03 MB".
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] =
        [(1_000_000_000_000, "TB"), (1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    // What would be rounded to 1000 of a unit is one of the next.
    let unit = UNITS.iter().find(|(unit, _)| bytes >= unit - unit / 2000);
    let Some((unit, name)) = unit else { return count(bytes, "byte") };
    let value = bytes as f64 / *unit as f64;
    let digits = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {name}")
}

/// A number of things: "1 file", "2 files".
pub(crate) fn count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Files and directories; of what there is none, nothing is said unless there is nothing at all.
pub(crate) fn files_and_directories(files: u64, directories: u64) -> String {
    let directories_in_words =
        if directories == 1 { "1 directory".into() } else { format!("{directories} directories") };
    match (files, directories) {
        (_, 0) => count(files, "file"),
        (0, _) => directories_in_words,
        _ => format!("{} and {directories_in_words}", count(files, "file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let sizes =
            [0, 1, 999, 1000, 5_030_081, 300_000_000, 999_999_999, 12_345_678_901, u64::MAX];
        let shown = sizes.map(size);
        assert_eq!(
            shown.each_ref().map(String::as_str),
            [
                "0 bytes",
                "1 byte",
                "999 bytes",
                "1.00 kB",
                "5.03 MB",
                "300 MB",
                "1.00 GB",
                "12.3 GB",
                "18446744 TB"
            ]
        );
        assert_eq!(files_and_directories(1, 0), "1 file");
        assert_eq!(files_and_directories(301, 3), "301 files and 3 directories");
        assert_eq!(files_and_directories(0, 1), "1 directory");
        assert_eq!(files_and_directories(0, 0), "0 files");
    }
}
