//! CON-25: an image is looked at before a container is made of it.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use lazaret_image_builder::{IMAGE_LABEL, INPUTS_LABEL, inspect};
use lazaret_protocol::PORTER_PATH;
use lazaret_runtime::ImageInfo;

fn ours() -> ImageInfo {
    ImageInfo {
        id: format!("sha256:{}", "0a".repeat(32)),
        tags: vec!["localhost/lazaret/base:0".to_owned()],
        size: 1,
        labels: BTreeMap::from([
            (IMAGE_LABEL.to_owned(), "base".to_owned()),
            (INPUTS_LABEL.to_owned(), "00".to_owned()),
        ]),
        volumes: Vec::new(),
        entrypoint: vec![PORTER_PATH.to_owned()],
        architecture: "amd64".to_owned(),
    }
}

#[test]
fn con_25_a_container_is_made_of_the_id() {
    let image = ours();
    assert_eq!(inspect(&image).unwrap().reference().as_str(), image.id);
    // Podman's own listing leaves the algorithm out.
    let bare = ImageInfo {
        id: "0a".repeat(32),
        ..ours()
    };
    assert_eq!(inspect(&bare).unwrap(), inspect(&image).unwrap());
}

#[test]
fn con_25_surprises_are_refused() {
    let refusal = |image: &ImageInfo| {
        inspect(image)
            .unwrap_err()
            .to_string()
            .replace(&ours().id, "<id>")
    };

    let image = ImageInfo {
        volumes: vec!["/data\u{1b}[2J".to_owned()],
        ..ours()
    };
    assert_snapshot!(refusal(&image), @r#"the image "<id>" declares the volumes ["/data\u{1b}[2J"]"#);

    let image = ImageInfo {
        entrypoint: vec!["/bin/sh".to_owned()],
        ..ours()
    };
    assert_snapshot!(refusal(&image), @r#"the image "<id>" starts ["/bin/sh"], expected the porter"#);

    let image = ImageInfo {
        labels: BTreeMap::new(),
        ..ours()
    };
    assert_snapshot!(refusal(&image), @r#"the image "<id>" has no label io.lazaret.image: it was not built by lazaret"#);

    let image = ImageInfo {
        id: "latest".to_owned(),
        ..ours()
    };
    assert_snapshot!(refusal(&image), @r#"the engine names the image by "latest", which is no sha256 digest"#);
}
