//! Enums whose variants are words.

/// An enum of words: `as_str` returns the word of a variant, and with `: serde` it is also the name in JSON and in schemas. After
/// the enum, `const ALL;` asks for the list of its variants and `impl Display;` for the trait.
macro_rules! words {
    (@rest $vis:vis $name:ident [$($variant:ident $word:literal)+] $(#[$attr:meta])* const ALL; $($rest:tt)*) => {
        impl $name {
            $(#[$attr])*
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];
        }
        $crate::model::words! { @rest $vis $name [$($variant $word)+] $($rest)* }
    };
    (@rest $vis:vis $name:ident [$($variant:ident $word:literal)+] impl Display; $($rest:tt)*) => {
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
        $crate::model::words! { @rest $vis $name [$($variant $word)+] $($rest)* }
    };
    (@rest $vis:vis $name:ident [$($variant:ident $word:literal)+]) => {
        impl $name {
            /// Returns the word.
            $vis const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
    (
        $(#[$attr:meta])*
        $vis:vis enum $name:ident: serde { $($(#[$on:meta])* $variant:ident = $word:literal,)+ }
        $($rest:tt)*
    ) => {
        $(#[$attr])*
        $vis enum $name { $($(#[$on])* #[serde(rename = $word)] $variant,)+ }
        $crate::model::words! { @rest $vis $name [$($variant $word)+] $($rest)* }
    };
    (
        $(#[$attr:meta])*
        $vis:vis enum $name:ident { $($(#[$on:meta])* $variant:ident = $word:literal,)+ }
        $($rest:tt)*
    ) => {
        $(#[$attr])*
        $vis enum $name { $($(#[$on])* $variant,)+ }
        $crate::model::words! { @rest $vis $name [$($variant $word)+] $($rest)* }
    };
}

pub(crate) use words;
