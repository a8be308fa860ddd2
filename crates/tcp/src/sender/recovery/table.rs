//! Macros for the table of policies: an enumeration that forwards each hook by `match`, so that
//! hooks called for every packet are inlined.

/// From one line per policy, define [`Recovery`](super::Recovery), the switch, `Policy`, which
/// holds the state, and `each!`, which calls a hook of the current policy.
macro_rules! policies {
    ($d:tt $($(#[doc = $doc:literal])* $name:ident($state:ty) = $key:literal;)*) => {
        /// Recovery policy: how the window behaves while losses are repaired.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Recovery {
            $($(#[doc = $doc])* $name,)*
        }

        impl Recovery {
            /// Every value with its name.
            pub const NAMES: &'static [(&'static str, Recovery)] = &[$(($key, Recovery::$name)),*];
        }

        /// The policy of one connection, with its state.
        pub(crate) enum Policy {
            $($name($state)),*
        }

        impl Policy {
            /// The policy of a stack.
            pub(crate) fn new(stack: &Stack) -> Self {
                match stack.losses.recovery {
                    $(Recovery::$name => Policy::$name(<$state>::from(stack)),)*
                }
            }
        }

        macro_rules! each {
            ($d policy:expr, $d it:ident => $d call:expr) => {
                match $d policy {
                    $(Policy::$name($d it) => $d call,)*
                }
            };
        }
    };
}

/// From the hooks, define the trait, whose defaults follow the RFCs, and forward each from
/// `Policy`. The first block is queries; the second changes the policy's state.
macro_rules! hooks {
    (
        ask { $($(#[doc = $ask_doc:literal])* fn $ask:ident(& $this:ident $(, $arg:ident: $type:ty)* $(,)?)
            $(-> $answer:ty)? $ask_body:block)* }
        tell { $($(#[doc = $tell_doc:literal])* fn $tell:ident(&mut $that:ident $(, $given:ident: $of:ty)* $(,)?)
            $(-> $result:ty)? $tell_body:block)* }
    ) => {
        /// Behaviour on losses in which stacks differ. The defaults follow the RFCs (5681, 6582,
        /// 6675).
        #[allow(unused_variables)]
        pub(crate) trait RecoveryPolicy {
            $($(#[doc = $ask_doc])* #[inline(always)]
            fn $ask(&$this $(, $arg: $type)*) $(-> $answer)? $ask_body)*
            $($(#[doc = $tell_doc])* #[inline(always)]
            fn $tell(&mut $that $(, $given: $of)*) $(-> $result)? $tell_body)*
        }

        impl RecoveryPolicy for Policy {
            $(#[inline(always)]
            fn $ask(&$this $(, $arg: $type)*) $(-> $answer)? {
                each!($this, it => it.$ask($($arg),*))
            })*
            $(#[inline(always)]
            fn $tell(&mut $that $(, $given: $of)*) $(-> $result)? {
                each!($that, it => it.$tell($($given),*))
            })*
        }
    };
}

pub(super) use {hooks, policies};
