use alloc::string::String;

use crate::clock::Millis;

/// Returns a time, in milliseconds since 1970, as an ISO 8601 text in UTC.
pub(super) fn iso(at: Millis) -> String {
    let (days, millis) = (at.0 / MS_PER_DAY, at.0 % MS_PER_DAY);
    let (year, month, day) = civil(days);
    let (seconds, fraction) = (millis / 1_000, millis % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
}

/// Whether a text is a date and time of ISO 8601 with seconds and an offset, such as
/// `2026-11-25T08:00:00.5+01:00`.
pub(super) fn is_iso(text: &str) -> bool {
    let Some((date_time, rest)) = text.split_at_checked(19) else {
        return false;
    };
    let mut shape = date_time.bytes().zip("0000-00-00T00:00:00".bytes());
    let fits = |(byte, like): (u8, u8)| match like {
        b'0' => byte.is_ascii_digit(),
        like => byte == like,
    };
    if !shape.all(fits) || !has_ranges(date_time) {
        return false;
    }
    let offset = rest.strip_prefix('.').map_or(Some(rest), |fraction| {
        let end = fraction.find(|character: char| !character.is_ascii_digit())?;
        (1..=9).contains(&end).then(|| fraction.get(end..))?
    });
    offset.is_some_and(is_offset)
}

fn has_ranges(date_time: &str) -> bool {
    let number = |from: usize| {
        let digits = date_time.get(from..from + 2);
        digits.and_then(|digits| digits.parse::<u8>().ok())
    };
    let is_in = |from, max| number(from).is_some_and(|number| number <= max);
    let is_date = is_in(5, 12) && is_in(8, 31) && number(5) != Some(0) && number(8) != Some(0);
    is_date && is_in(11, 23) && is_in(14, 59) && is_in(17, 60)
}

fn is_offset(text: &str) -> bool {
    if text == "Z" {
        return true;
    }
    let Some(digits) = text.strip_prefix(['+', '-']) else {
        return false;
    };
    let Some((hours, minutes)) = digits.split_once(':') else {
        return false;
    };
    let is_in = |digits: &str, max: u8| {
        digits.len() == 2 && digits.parse::<u8>().is_ok_and(|number| number <= max)
    };
    is_in(hours, 23) && is_in(minutes, 59) && digits.bytes().all(|byte| byte != b'+')
}

/// Returns year, month and day of a day after 1970-01-01, in the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    // Counted from 0000-03-01, so that a leap day ends its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

const MS_PER_DAY: u64 = 86_400_000;
