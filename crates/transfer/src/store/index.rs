//! `Index`: which blob lies where.

use hashbrown::HashTable;
use lazaret_tree::Digest;

/// Where a blob lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobPlace {
    pub(super) digest: Digest,
    /// Which of the files.
    pub(super) file: u32,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A blob's record on disk: where it lies in the file beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexRecord {
    pub(super) digest: Digest,
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// Every blob, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Index {
    places: Vec<BlobPlace>,
    table: HashTable<u32>,
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of all blobs.
    pub(super) fn bytes(&self) -> u64 {
        self.places.iter().map(|place| place.length).sum()
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<BlobPlace> {
        let found = self.table.find(hash(digest), |&number| {
            self.at(number).is_some_and(|place| place.digest == *digest)
        });
        found.and_then(|&number| self.at(number)).copied()
    }

    /// Adds a blob that is not there yet.
    pub(super) fn insert(&mut self, place: BlobPlace) {
        let Ok(number) = u32::try_from(self.places.len()) else {
            // 200 GiB of places: whatever is not known is fetched once more.
            return;
        };
        self.places.push(place);
        let places = &self.places;
        self.table
            .insert_unique(hash(&place.digest), number, |&number| {
                places
                    .get(number as usize)
                    .map_or(0, |place| hash(&place.digest))
            });
    }

    /// Adds what a file holds, but for what is there already.
    pub(super) fn extend(&mut self, file: u32, records: &[IndexRecord]) {
        self.places.reserve(records.len());
        for record in records {
            if self.get(&record.digest).is_none() {
                self.insert(BlobPlace {
                    digest: record.digest,
                    file,
                    offset: record.offset,
                    length: record.length,
                });
            }
        }
    }

    /// Returns the blobs that came after the first `count`.
    pub(super) fn since(&self, count: usize) -> &[BlobPlace] {
        self.places.get(count..).unwrap_or_default()
    }

    /// Forgets the blobs that came after the first `count`.
    pub(super) fn truncate(&mut self, count: usize) {
        while self.places.len() > count {
            let Some(place) = self.places.pop() else {
                return;
            };
            let number = self.places.len();
            let is_it = |&other: &u32| other as usize == number;
            if let Ok(entry) = self.table.find_entry(hash(&place.digest), is_it) {
                entry.remove();
            }
        }
    }

    fn at(&self, number: u32) -> Option<&BlobPlace> {
        self.places.get(number as usize)
    }
}

/// A digest is as good a hash as any.
fn hash(digest: &Digest) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

impl IndexRecord {
    /// Bytes of a record on disk.
    pub(super) const BYTES: usize = 48;

    pub(super) fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.digest.as_bytes());
        out.extend_from_slice(&self.offset.to_le_bytes());
        out.extend_from_slice(&self.length.to_le_bytes());
    }

    pub(super) fn read(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (digest, numbers) = bytes.split_first_chunk::<32>()?;
        let (offset, length) = numbers.split_first_chunk::<8>()?;
        Some(Self {
            digest: Digest::from(*digest),
            offset: u64::from_le_bytes(*offset),
            length: u64::from_le_bytes(length.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(number: u64) -> BlobPlace {
        BlobPlace {
            digest: Digest::of(&number.to_le_bytes()),
            file: 0,
            offset: number,
            length: 8,
        }
    }

    #[test]
    fn what_is_forgotten_is_gone_and_can_come_again() {
        let mut index = Index::default();
        (0..100).for_each(|number| index.insert(place(number)));
        index.truncate(40);
        for number in 0..100 {
            let expected = (number < 40).then(|| place(number));
            assert_eq!(index.get(&place(number).digest), expected, "{number}");
        }
        (40..200).for_each(|number| index.insert(place(number)));
        assert_eq!(index.since(199), [place(199)]);
        assert!((0..200).all(|number| index.get(&place(number).digest) == Some(place(number))));
    }

    #[test]
    fn a_record_reads_as_it_was_written() {
        let record = IndexRecord {
            digest: Digest::of(b"x"),
            offset: u64::MAX,
            length: 7,
        };
        let mut bytes = Vec::new();
        record.write_to(&mut bytes);
        let bytes: [u8; IndexRecord::BYTES] = bytes.try_into().unwrap();
        assert_eq!(IndexRecord::read(&bytes), Some(record));
    }
}
