//! `mutate`: small seeded changes of an input, blind to what the code does with it.

use lazaret_tests::Random;

/// No input grows beyond this.
const MAX_BYTES: usize = 16 << 10;

const INTERESTING: [u8; 17] = *b"\0\x01\x7f\x80\xff/.\\ 0179-\n\t\x1b";

/// Changes `bytes` in one to eight places.
pub(crate) fn mutate(
    bytes: &mut Vec<u8>,
    corpus: &[Vec<u8>],
    dictionary: &[&[u8]],
    random: &mut Random,
) {
    for _ in 0..1 << random.below(4) {
        once(bytes, corpus, dictionary, random);
    }
    bytes.truncate(MAX_BYTES);
}

fn once(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], dictionary: &[&[u8]], random: &mut Random) {
    let at = random.below(bytes.len() + 1);
    let end = at + random.below((bytes.len() - at).min(600) + 1);
    match random.below(10) {
        0 => flip(bytes, random, |byte, random| byte ^ 1 << random.below(8)),
        1 => flip(bytes, random, |_, random| random.pick(&INTERESTING)),
        2 => flip(bytes, random, |byte, random| {
            byte.wrapping_add(random.pick(&[1, 255, 16, 240]))
        }),
        3 => flip(bytes, random, |_, random| random.below(256) as u8),
        4 => drop(bytes.drain(at..end)),
        5 => {
            let piece = bytes[at..end].to_vec();
            insert(bytes, random.below(bytes.len() + 1), &piece);
        }
        6 if !dictionary.is_empty() => {
            let word = random.pick(dictionary);
            insert(bytes, at, word);
        }
        7 if !dictionary.is_empty() => {
            let word = random.pick(dictionary);
            for (place, byte) in bytes[at..].iter_mut().zip(word) {
                *place = *byte;
            }
        }
        8 if !corpus.is_empty() => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            let to = from + random.below(other.len() - from + 1);
            bytes.splice(at..end, other[from..to].iter().copied());
        }
        // Whole blocks of an archive.
        _ => {
            let blocks = bytes.len() / 512;
            if blocks > 0 {
                let (from, to) = (random.below(blocks), random.below(blocks + 1));
                let block = bytes[from * 512..][..512].to_vec();
                match random.below(3) {
                    0 => drop(bytes.drain(from * 512..from * 512 + 512)),
                    1 => bytes[from * 512..][..512].fill(0),
                    _ => insert(bytes, to * 512, &block),
                }
            }
        }
    }
}

fn flip(bytes: &mut [u8], random: &mut Random, change: impl Fn(u8, &mut Random) -> u8) {
    if !bytes.is_empty() {
        let at = random.below(bytes.len());
        bytes[at] = change(bytes[at], random);
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
