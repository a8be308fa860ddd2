//! Declares the options of jobs.

/// Declares options, each once: its type, its default where that is not the type's own, and what it
/// means. They are read from JSON by their names.
macro_rules! options {
    (@default $default:expr) => { $default };
    (@default) => { Default::default() };
    ($(#[$doc:meta])* $name:ident {
        $($(#[$meaning:meta])* $option:ident: $type:ty $(= $default:expr)?,)*
    }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $name {
            $($(#[$meaning])* pub $option: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($option: options!(@default $($default)?),)* }
            }
        }
    };
}
