//! The date in a report.

/// A date as RFC 9110 section 5.6.7 writes it.
pub(super) fn http_date(epoch_s: u64) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [(&str, u64); 12] = [
        ("Jan", 31),
        ("Feb", 28),
        ("Mar", 31),
        ("Apr", 30),
        ("May", 31),
        ("Jun", 30),
        ("Jul", 31),
        ("Aug", 31),
        ("Sep", 30),
        ("Oct", 31),
        ("Nov", 30),
        ("Dec", 31),
    ];
    let (day_of_epoch, second) = (epoch_s / 86_400, epoch_s % 86_400);
    let weekday = DAYS[(day_of_epoch % 7) as usize];
    let is_leap = |year: u64| {
        (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400)
    };
    let (mut year, mut day) = (1970, day_of_epoch);
    // Until a year that no clock shows; 136 steps at most for a clock of 32 bits.
    while year < 10_000 && day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let mut name = "Dec";
    for (at, (month, days)) in MONTHS.iter().enumerate() {
        let days = days + u64::from(at == 1 && is_leap(year));
        name = month;
        if day < days {
            break;
        }
        day -= days;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{weekday}, {:02} {name} {year} {hour:02}:{minute:02}:{second:02} GMT", day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Of RFC 9110 section 5.6.7, and of `date -u -d @…`.
        assert_eq!(http_date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(http_date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(http_date(1_735_689_599), "Tue, 31 Dec 2024 23:59:59 GMT");
        assert_eq!(http_date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        http_date(u64::MAX);
    }
}
