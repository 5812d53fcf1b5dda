//! `Fields`: the header fields of a message, in order.

/// The fields of one hop (RFC 9110 section 7.6.1). `Transfer-Encoding` belongs to the hop as
/// well; the sender of a body decides about it.
const HOP_BY_HOP: [&str; 6] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// One header field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name: a token, in lower case.
    pub name: String,
    /// The value without surrounding white space. No CR, LF, NUL or other control but tab.
    pub value: Vec<u8>,
}

impl Field {
    /// Appends the field as a line.
    pub(crate) fn write_to(&self, out: &mut Vec<u8>) {
        for part in [self.name.as_bytes(), b": ", &self.value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}

/// The fields of a head, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields(pub Vec<Field>);

impl Fields {
    /// Iterates over the fields.
    pub fn iter(&self) -> impl Iterator<Item = &Field> {
        self.0.iter()
    }

    /// Iterates over the values of a field, by its name in lower case.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let fields = self.0.iter().filter(move |field| field.name == name);
        fields.map(|field| field.value.as_slice())
    }

    /// Iterates over the members of all values of a field that holds a list, in lower case.
    pub fn list<'a>(&'a self, name: &'a str) -> impl Iterator<Item = String> + 'a {
        self.values(name)
            .flat_map(|value| value.split(|&byte| byte == b','))
            .map(|member| String::from_utf8_lossy(member.trim_ascii()).to_ascii_lowercase())
            .filter(|member| !member.is_empty())
    }

    /// Returns the names of the fields that belong to this hop: those of RFC 9110 and those
    /// that `Connection` lists.
    pub(crate) fn hop_by_hop(&self) -> Vec<String> {
        let fixed = HOP_BY_HOP.map(str::to_owned);
        fixed.into_iter().chain(self.list("connection")).collect()
    }

    /// Removes the fields of this hop, and all of `Proxy-…`.
    pub fn remove_hop_by_hop(&mut self) {
        let hop_by_hop = self.hop_by_hop();
        self.0
            .retain(|field| !field.name.starts_with("proxy-") && !hop_by_hop.contains(&field.name));
    }
}
