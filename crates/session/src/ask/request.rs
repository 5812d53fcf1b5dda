//! `AskRequest`: what may be asked.

use super::json::{ObjectError, object};
use lazaret_json::JsonError;

/// The most bytes of a request.
pub const MAX_BYTES: usize = 1 << 20;

/// The most bytes of a request's `id`.
const MAX_ID: usize = 200;

/// A request, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskRequest {
    line: String,
    id: Option<String>,
}

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// There is none.
    #[error("the request is empty")]
    Empty,
    /// It is too long.
    #[error("the request has more than 1 MiB")]
    TooLong,
    /// It is no such JSON.
    #[error("the request is refused: {0}")]
    Json(#[from] ObjectError),
    /// It has an `id` that can't be told from others.
    #[error("the request's \"id\" is no text of 1 to {MAX_ID} bytes")]
    Id,
}

impl AskRequest {
    /// Checks a request.
    ///
    /// # Errors
    /// See [`RequestError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, RequestError> {
        if bytes.len() > MAX_BYTES {
            return Err(RequestError::TooLong);
        }
        if bytes.trim_ascii().is_empty() {
            return Err(RequestError::Empty);
        }
        let line = object(bytes)?;
        let value: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| ObjectError::from(JsonError::Syntax(error.to_string())))?;
        let id = match value.get("id") {
            None | Some(serde_json::Value::Null) => None,
            Some(serde_json::Value::String(id)) if (1..=MAX_ID).contains(&id.len()) => {
                Some(id.clone())
            }
            Some(_) => return Err(RequestError::Id),
        };
        Ok(Self { line, id })
    }

    /// Returns the object on one line, without its end.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the `id`, by which a request that is sent again is known.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_an_object_of_a_bounded_size() {
        let request = AskRequest::parse(b"{ \"prompt\": \"hi\", \"id\": \"7\" }\n").unwrap();
        assert_eq!(request.line(), "{\"prompt\":\"hi\",\"id\":\"7\"}");
        assert_eq!(request.id(), Some("7"));
        assert_eq!(AskRequest::parse(b"{\"id\":null}").unwrap().id(), None);
        assert_eq!(AskRequest::parse(b" \n"), Err(RequestError::Empty));
        let of = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes - 8));
        AskRequest::parse(of(MAX_BYTES).as_bytes()).unwrap();
        let long = AskRequest::parse(of(MAX_BYTES + 1).as_bytes());
        assert_eq!(long, Err(RequestError::TooLong));
        for id in ["\"\"", "7", "[]", &format!("\"{}\"", "x".repeat(201))] {
            let text = format!("{{\"id\":{id}}}");
            assert_eq!(AskRequest::parse(text.as_bytes()), Err(RequestError::Id));
        }
        let no = AskRequest::parse(b"[]");
        assert_eq!(no, Err(RequestError::Json(ObjectError::NotAnObject)));
    }
}
