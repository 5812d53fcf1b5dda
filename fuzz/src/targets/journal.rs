//! The journal: no panic, and what is read is what would be written.

use lazaret_transfer::fuzz;
use lazaret_tree::Digest;

/// The bytes are the journal without its last line, or with it.
pub(crate) fn parsed(bytes: &[u8]) {
    // As it came: nothing gets past the checksum but by being whole.
    if let Ok(text) = fuzz::journal(bytes) {
        assert_eq!(text.as_bytes(), bytes);
    }
    let mut sealed = bytes.to_vec();
    if sealed.last() != Some(&b'\n') {
        sealed.push(b'\n');
    }
    let checksum = format!("checksum\t{}\n", Digest::of(&sealed));
    sealed.extend_from_slice(checksum.as_bytes());
    match fuzz::journal(&sealed) {
        Ok(text) => assert_eq!(text.as_bytes(), sealed),
        Err(error) => {
            let message = error.to_string();
            assert!(!message.chars().any(char::is_control), "{message:?}");
        }
    }
}

const BODY: &str = "lazaret-journal 1\nphase\tready\nid\t2f0c2f0c2f0c2f0c\nroot\t66\t1234\t2f77\n\
    placement\texchange\n";

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let digest = Digest::of(b"");
    let steps = format!(
        "step\ta\tf:0:{digest}\tx:0:{digest}\t644:1700000000:5\tf:77:0:1:2\n\
         step\tb/c\t-\tl:../x\t-\tl:78:4:-1:0\n\
         step\td\td\t-\t755:0:0\t-\n"
    );
    vec![
        BODY.as_bytes().to_vec(),
        format!("{BODY}{steps}").into_bytes(),
        format!("{BODY}{steps}checksum\t{digest}\n").into_bytes(),
        b"lazaret-journal 2\n".to_vec(),
    ]
}
