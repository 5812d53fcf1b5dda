//! `porter deflated`: another verb, compressed on its way in and out.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Output;

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use lazaret_protocol::Receipt;

use crate::session::{fast_tempdir, packed};

fn deflated(verb: &str, root: &Path, stdin: &[u8]) -> Output {
    let arguments = ["deflated".as_ref(), verb.as_ref(), root.as_os_str()];
    duct::cmd(env!("CARGO_BIN_EXE_lazaret-porter"), arguments)
        .stdin_bytes(stdin)
        .stdout_capture()
        .stderr_capture()
        .unchecked()
        .run()
        .expect("it was built")
}

fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("to memory");
    encoder.finish().expect("to memory")
}

const PROJECT: &str = "
    d sub
    f sub/file \"one\"
    x top \"two\"
";

#[test]
fn a_verb_does_what_it_does() {
    let workspace = lazaret_tests::tree_text::temp(PROJECT);
    let large = "a line of many\n".repeat(100_000);
    std::fs::write(workspace.path().join("large"), large).expect("ours");
    let (sent, stream) = packed(workspace.path());
    let compressed = pack(&stream);
    assert!(compressed.len() < stream.len() / 10);
    let volume = fast_tempdir();
    let Output {
        status,
        stdout,
        stderr,
    } = deflated("receive", volume.path(), &compressed);
    let said = String::from_utf8_lossy(&stderr);
    assert_eq!((status.code(), &*said), (Some(0), ""));
    let mut receipt = Vec::new();
    let read = ZlibDecoder::new(&stdout[..]).read_to_end(&mut receipt);
    read.expect("a whole zlib stream");
    let receipt = Receipt::read_from(&mut &receipt[..], sent.trailer.entries);
    assert_eq!(receipt.expect("a receipt").arrived, sent.trailer);
    assert_eq!(
        lazaret_tests::tree_text::dump(volume.path()),
        lazaret_tests::tree_text::dump(workspace.path())
    );
}

#[test]
fn what_is_cut_off_or_no_zlib_stream_is_refused() {
    let workspace = lazaret_tests::tree_text::temp(PROJECT);
    let (_, stream) = packed(workspace.path());
    let compressed = pack(&stream);
    let half = &compressed[..compressed.len() / 2];
    for bytes in [&b""[..], half, &stream] {
        let volume = fast_tempdir();
        let Output { status, stderr, .. } = deflated("receive", volume.path(), bytes);
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(125), "{said}");
        assert!(said.starts_with("porter: receive: "), "{said}");
    }
}

#[test]
fn a_verb_that_does_not_exist_says_so() {
    let root = fast_tempdir();
    let Output { status, stderr, .. } = deflated("nonsense", root.path(), b"");
    assert_eq!(status.code(), Some(125));
    assert!(String::from_utf8_lossy(&stderr).contains("usage: porter "));
}
