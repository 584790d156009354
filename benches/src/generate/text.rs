//! JSON text, appended to a byte vector.

use super::random::Random;

/// Appends pieces of JSON text.
pub(super) trait Put {
    /// Appends `json` unchanged.
    fn put(&mut self, json: &str);

    /// Appends the text of a string whose source `json` is, with every non-ASCII character as `\uXXXX` if
    /// `ascii`. Characters that always need an escape are escaped in `json`.
    fn put_text(&mut self, json: &str, ascii: bool);

    /// Appends `number` in decimal.
    fn put_number(&mut self, number: u64);

    /// Appends `number` in decimal, with zeros in front up to `digits` digits.
    fn put_digits(&mut self, number: u64, digits: usize);

    /// Appends `hundredths` / 100 with two digits after the point.
    fn put_money(&mut self, hundredths: u64);

    /// Appends `millionths` / 1,000,000 with six digits after the point.
    fn put_degrees(&mut self, millionths: i64);

    /// Appends `length` letters and digits, at most ten, that encode `bits`.
    fn put_code(&mut self, bits: u64, length: u32);

    /// Appends the low `digits` hexadecimal digits of `bits`.
    fn put_hex(&mut self, bits: u64, digits: u32);

    /// Appends `length` letters and digits of base 32, at most twelve, that encode `bits`.
    fn put_base32(&mut self, bits: u64, length: u32);

    /// Appends 13 letters and digits of base 32 that encode `bits`, in whose order they are.
    fn put_sortable(&mut self, bits: u64);

    /// Appends an encoded polyline of `length` characters. They are those of ASCII from `?` to `~`. So
    /// brackets, braces and backslashes (two characters here) are among them, as in real ones.
    fn put_polyline(&mut self, random: &mut Random, length: u64);
}

impl Put for Vec<u8> {
    fn put(&mut self, json: &str) {
        self.extend_from_slice(json.as_bytes());
    }

    fn put_text(&mut self, json: &str, ascii: bool) {
        if !ascii || json.is_ascii() {
            self.put(json);
            return;
        }
        for char in json.chars() {
            if char.is_ascii() {
                self.push(char as u8);
                continue;
            }
            for unit in char.encode_utf16(&mut [0; 2]) {
                self.put(r"\u");
                self.put_hex(u64::from(*unit), 4);
            }
        }
    }

    fn put_number(&mut self, number: u64) {
        self.put_digits(number, 1);
    }

    fn put_digits(&mut self, mut number: u64, digits: usize) {
        // 20 digits hold any u64.
        let mut text = [b'0'; 20];
        let mut start = text.len();
        while number > 0 {
            start -= 1;
            text[start] = b'0' + (number % 10) as u8;
            number /= 10;
        }
        self.extend_from_slice(&text[start.min(text.len() - digits)..]);
    }

    fn put_money(&mut self, hundredths: u64) {
        self.put_number(hundredths / 100);
        self.push(b'.');
        self.put_digits(hundredths % 100, 2);
    }

    fn put_degrees(&mut self, millionths: i64) {
        if millionths < 0 {
            self.push(b'-');
        }
        self.put_number(millionths.unsigned_abs() / 1_000_000);
        self.push(b'.');
        self.put_digits(millionths.unsigned_abs() % 1_000_000, 6);
    }

    fn put_code(&mut self, bits: u64, length: u32) {
        const ALPHABET: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789aZ";
        self.extend((0..length).map(|ix| ALPHABET[(bits >> (6 * ix)) as usize & 63]));
    }

    fn put_hex(&mut self, bits: u64, digits: u32) {
        self.extend((0..digits).rev().map(|ix| b"0123456789abcdef"[(bits >> (4 * ix)) as usize & 15]));
    }

    fn put_base32(&mut self, bits: u64, length: u32) {
        const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
        self.extend((0..length).map(|ix| ALPHABET[(bits >> (5 * ix)) as usize & 31]));
    }

    fn put_sortable(&mut self, bits: u64) {
        const ALPHABET: &[u8; 32] = b"234567abcdefghijklmnopqrstuvwxyz";
        self.extend((0..13).rev().map(|ix| ALPHABET[(bits >> (5 * ix)) as usize & 31]));
    }

    fn put_polyline(&mut self, random: &mut Random, length: u64) {
        let mut bits = 0;
        for ix in 0..length {
            if ix % 10 == 0 {
                bits = random.bits();
            }
            let char = b'?' + (bits & 63) as u8;
            bits >>= 6;
            if char == b'\\' {
                self.push(b'\\');
            }
            self.push(char);
        }
    }
}

/// A moment of the Gregorian calendar, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    year: u64,
    /// From 0.
    month: usize,
    /// From 1.
    day: u64,
    /// 0 is Sunday.
    weekday: usize,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Moment {
    /// The moment `seconds` after the start of 1970.
    pub(super) fn from_unix(seconds: u64) -> Self {
        let days = seconds / 86_400;
        // Years that begin in March have their leap day last; an era is 400 of them (Howard Hinnant,
        // "chrono-Compatible Low-Level Date Algorithms", civil_from_days). 719,468 days separate 0000-03-01
        // and 1970.
        let since_era_0 = days + 719_468;
        let era = since_era_0 / 146_097;
        let day_of_era = since_era_0 % 146_097;
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = (month_from_march + 2) % 12;
        Self {
            year: 400 * era + year_of_era + u64::from(month < 2),
            month: month as usize,
            day: day_of_year - (153 * month_from_march + 2) / 5 + 1,
            weekday: ((days + 4) % 7) as usize,
            hour: seconds / 3_600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }

    /// Appends the date as tweets have it, `Wed Mar 01 00:00:00 +0000 2017`.
    pub(super) fn put_long(self, out: &mut Vec<u8>) {
        const WEEKDAYS: [&str; 7] = ["Sun ", "Mon ", "Tue ", "Wed ", "Thu ", "Fri ", "Sat "];
        const MONTHS: [&str; 12] =
            ["Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ", "Dec "];
        out.put(WEEKDAYS[self.weekday]);
        out.put(MONTHS[self.month]);
        out.put_digits(self.day, 2);
        out.push(b' ');
        self.put_time(out);
        out.put(" +0000 ");
        out.put_number(self.year);
    }

    /// Appends the date as ISO 8601 has it, `2017-03-01`.
    pub(super) fn put_date(self, out: &mut Vec<u8>) {
        out.put_number(self.year);
        out.push(b'-');
        out.put_digits(self.month as u64 + 1, 2);
        out.push(b'-');
        out.put_digits(self.day, 2);
    }

    /// Appends the date and the time as ISO 8601 has them, `2017-03-01T00:00:00`.
    pub(super) fn put_second(self, out: &mut Vec<u8>) {
        self.put_date(out);
        out.push(b'T');
        self.put_time(out);
    }

    /// Appends the time of the day, `00:00:00`.
    fn put_time(self, out: &mut Vec<u8>) {
        out.put_digits(self.hour, 2);
        out.push(b':');
        out.put_digits(self.minute, 2);
        out.push(b':');
        out.put_digits(self.second, 2);
    }
}
