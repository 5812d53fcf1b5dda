//! Controls in a stored [`EngineInfo`](crate::EngineInfo): by their case ids.

/// A list of controls.
pub(crate) mod list {
    use lazaret_protocol::Control;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        controls: &[Control],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(controls.iter().map(|control| control.id()))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Control>, D::Error> {
        let ids = Vec::<String>::deserialize(deserializer)?;
        let controls = ids.iter().map(|id| id.parse().map_err(D::Error::custom));
        controls.collect()
    }
}

/// Controls with a text each.
pub(crate) mod map {
    use std::collections::BTreeMap;

    use lazaret_protocol::Control;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        controls: &BTreeMap<Control, String>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(controls.iter().map(|(control, text)| (control.id(), text)))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<BTreeMap<Control, String>, D::Error> {
        let texts = BTreeMap::<String, String>::deserialize(deserializer)?;
        let controls = texts.into_iter().map(|(id, text)| {
            let control = id.parse().map_err(D::Error::custom)?;
            Ok((control, text))
        });
        controls.collect()
    }
}
