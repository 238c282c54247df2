//! When a record gets another attempt.

use core::{fmt, str::FromStr, time::Duration};

use crate::time::nanos;

/// Which ends of an attempt lead to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetryOn {
    /// None: the first attempt is the last.
    None,
    /// Failures that another attempt may mend.
    Failure,
    /// Misses: the row may arrive in the table later.
    Missing,
    /// Both.
    Both,
}

impl RetryOn {
    pub(crate) fn failure(self) -> bool {
        matches!(self, Self::Failure | Self::Both)
    }

    pub(crate) fn missing(self) -> bool {
        matches!(self, Self::Missing | Self::Both)
    }
}

/// How often, and after which delays. Each record counts for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    /// Which ends lead to another attempt.
    pub on: RetryOn,
    /// Attempts after the first.
    pub attempts: u32,
    /// The delay before the second attempt.
    pub delay: Duration,
    /// Each delay is the last one times this.
    pub multiplier: Multiplier,
    /// No delay is longer.
    pub max_delay: Option<Duration>,
    /// Draws each delay between 0 and itself, differently for each record and attempt, and equally
    /// for equal seeds.
    pub jitter_seed: Option<u64>,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            on: RetryOn::None,
            attempts: 3,
            delay: Duration::from_millis(100),
            multiplier: Multiplier::ONE,
            max_delay: None,
            jitter_seed: None,
        }
    }
}

impl Retry {
    /// The delay before the attempt after `attempt`, which counts from 1; none to give up.
    ///
    /// `arrival` is the record's place in the stream; it varies the jitter.
    pub(crate) fn delay_after(&self, attempt: u32, arrival: u64) -> Option<Duration> {
        if attempt > self.attempts {
            return None;
        }
        let longest = self.max_delay.map_or(u64::MAX, nanos);
        let mut delay = nanos(self.delay).min(longest);
        for _ in 1..attempt {
            if self.multiplier == Multiplier::ONE || delay >= longest {
                break;
            }
            let next = self.multiplier.times(delay).min(longest);
            // One too small to grow stays as it is, after any number of attempts.
            if next == delay {
                break;
            }
            delay = next;
        }
        let drawn = self.jitter_seed.map_or(delay, |seed| {
            let roll = mix(seed ^ mix(arrival ^ mix(u64::from(attempt))));
            delay.checked_add(1).map_or(roll, |delays| roll % delays)
        });
        Some(Duration::from_nanos(drawn))
    }
}

/// How a delay grows: a factor of 1 or more, exact to the thousandth.
///
/// No floating point: every host computes the same delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Multiplier(u32);

impl Multiplier {
    /// Every delay is the same.
    pub const ONE: Self = Self(1_000);

    /// The factor of so many thousandths; none below 1,000 of them.
    #[must_use]
    pub fn from_thousandths(thousandths: u32) -> Option<Self> {
        (thousandths >= Self::ONE.0).then_some(Self(thousandths))
    }

    fn times(self, delay: u64) -> u64 {
        let (factor, one) = (u64::from(self.0), u64::from(Self::ONE.0));
        let fraction = delay % one * factor / one;
        (delay / one).checked_mul(factor).and_then(|whole| whole.checked_add(fraction)).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Multiplier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

impl FromStr for Multiplier {
    type Err = ();

    /// Reads `2`, `1.5`, `1.125`.
    fn from_str(text: &str) -> Result<Self, ()> {
        let mut thousandths = 0_u32;
        let mut decimals = None;
        for byte in text.bytes() {
            match (byte, decimals) {
                (b'0'..=b'9', None | Some(0..3)) => {
                    let digit = u32::from(byte - b'0');
                    thousandths = thousandths.checked_mul(10).and_then(|number| number.checked_add(digit)).ok_or(())?;
                    decimals = decimals.map(|decimals| decimals + 1);
                }
                (b'.', None) => decimals = Some(0),
                _ => return Err(()),
            }
        }
        if text.starts_with('.') || decimals == Some(0) {
            return Err(());
        }
        for _ in decimals.unwrap_or(0)..3 {
            thousandths = thousandths.checked_mul(10).ok_or(())?;
        }
        Self::from_thousandths(thousandths).ok_or(())
    }
}

/// One step of SplitMix64: spreads a number over all 64 bits.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exponential() -> Retry {
        Retry {
            on: RetryOn::Failure,
            attempts: 9,
            delay: Duration::from_millis(100),
            multiplier: Multiplier::from_thousandths(2_000).unwrap(),
            max_delay: Some(Duration::from_millis(250)),
            jitter_seed: None,
        }
    }

    #[test]
    fn a_delay_that_does_not_grow_is_known_at_once_after_any_number_of_attempts() {
        for (delay, multiplier) in [(0, "2"), (1, "1.001"), (100, "1")] {
            let retry = Retry {
                attempts: u32::MAX,
                delay: Duration::from_nanos(delay),
                multiplier: multiplier.parse().unwrap(),
                ..Retry::default()
            };
            // Multiplied one attempt after another, this would take seconds.
            for attempt in u32::MAX - 1_000..u32::MAX {
                assert_eq!(retry.delay_after(attempt, 0), Some(Duration::from_nanos(delay)));
            }
        }
    }

    #[test]
    fn exponential_delay_grows_to_its_maximum() {
        let delays: [_; 4] =
            core::array::from_fn(|i| exponential().delay_after(i as u32 + 1, 0).map(|d| d.as_millis()));
        assert_eq!(delays, [Some(100), Some(200), Some(250), Some(250)]);
    }

    #[test]
    fn the_count_is_of_attempts_after_the_first() {
        let retry = Retry { attempts: 2, ..exponential() };
        assert!(retry.delay_after(2, 0).is_some());
        assert_eq!(retry.delay_after(3, 0), None);
    }

    #[test]
    fn jitter_is_repeatable_varies_and_stays_within_the_delay() {
        let retry = Retry { jitter_seed: Some(7), ..exponential() };
        let draw = |record| retry.delay_after(1, record).unwrap();
        assert!((0..1_000).all(|record| draw(record) <= Duration::from_millis(100)));
        assert!((0..1_000).any(|record| draw(record) < Duration::from_millis(10)));
        assert!((0..1_000).any(|record| draw(record) > Duration::from_millis(90)));
        assert_eq!(draw(3), draw(3));
    }

    #[test]
    fn a_multiplier_reads_what_it_writes() {
        for (text, thousandths) in [("1", 1_000), ("2", 2_000), ("1.5", 1_500), ("1.125", 1_125), ("10.01", 10_010)] {
            let multiplier: Multiplier = text.parse().unwrap();
            assert_eq!(Some(multiplier), Multiplier::from_thousandths(thousandths));
            assert_eq!(alloc::format!("{multiplier}").parse(), Ok(multiplier));
        }
        for text in ["", ".", "1.", ".5", "0.9", "-2", "+2", "1.2345", "1e3", "NaN", "4294968"] {
            assert!(text.parse::<Multiplier>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_endless_delay_does_not_overflow() {
        let retry = Retry { delay: Duration::MAX, max_delay: None, ..exponential() };
        assert_eq!(retry.delay_after(9, 0), Some(Duration::from_nanos(u64::MAX)));
    }
}
