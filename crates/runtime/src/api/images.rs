//! Images from a registry, and out of an engine's store.

use std::io::Write;

use bollard::query_parameters::{CreateImageOptionsBuilder, TagImageOptionsBuilder};
use futures_util::StreamExt as _;

use super::client::{CallContext, Inner, label_filter};
use super::{CALL_LIMIT, LOAD_LIMIT, objects};
use crate::{EngineError, ImageRef};

/// `POST /images/create`: the engine reports progress until it has the image.
pub(super) fn pull(inner: &Inner, image: &ImageRef) -> Result<(), EngineError> {
    const VERB: &str = "pull image";
    let call = CallContext {
        verb: VERB,
        what: "image",
        name: image.as_str(),
    };
    let options = CreateImageOptionsBuilder::default()
        .from_image(image.as_str())
        .build();
    inner.call(LOAD_LIMIT, async {
        let mut answers = inner.docker.create_image(Some(options), None, None);
        while let Some(errors) = answers.next().await {
            let progress = errors.map_err(|error| inner.sort(call, error))?;
            // A failure in the middle arrives under status 200.
            if let Some(detail) = progress.error_detail {
                return Err(EngineError::Refused {
                    verb: VERB,
                    status: 200,
                    message: detail.message.unwrap_or_default(),
                });
            }
        }
        Ok(())
    })
}

/// `GET /images/json`.
pub(super) async fn list(
    inner: &Inner,
    label_key: &str,
) -> Result<Vec<objects::Listed>, EngineError> {
    let call = CallContext {
        verb: "list images",
        what: "path",
        name: "/images/json",
    };
    let path = format!("/images/json?filters={}", label_filter(label_key));
    inner.get_changing(call, &path).await
}

/// `POST /images/NAME/tag`: `tag` is `name:tag`.
pub(super) fn tag(inner: &Inner, image: &ImageRef, tag: &ImageRef) -> Result<(), EngineError> {
    let call = CallContext {
        verb: "tag image",
        what: "image",
        name: image.as_str(),
    };
    let (name, tag) = tag
        .as_str()
        .rsplit_once(':')
        .unwrap_or((tag.as_str(), "latest"));
    let options = TagImageOptionsBuilder::default()
        .repo(name)
        .tag(tag)
        .build();
    let docker = &inner.docker;
    inner.bollard(
        CALL_LIMIT,
        call,
        docker.tag_image(image.as_str(), Some(options)),
    )
}

/// `GET /images/NAME/get`: the archive as it comes.
pub(super) fn save(
    inner: &Inner,
    image: &ImageRef,
    archive: &mut (dyn Write + Send),
) -> Result<(), EngineError> {
    const VERB: &str = "save image";
    let call = CallContext {
        verb: VERB,
        what: "image",
        name: image.as_str(),
    };
    inner.call(LOAD_LIMIT, async {
        let mut chunks = inner.docker.export_image(image.as_str());
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| inner.sort(call, error))?;
            // Blocks this call's own thread only.
            archive
                .write_all(&chunk)
                .map_err(|source| EngineError::Stream { verb: VERB, source })?;
        }
        Ok(())
    })
}
