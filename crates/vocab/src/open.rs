//! Types whose values a program can leave open (`__VERIFIER_nondet_int` and the like).

use crate::byte_enum;

byte_enum! {
    /// A type of values that the program leaves open, as C has it on x86-64.
    OpenType {
        /// `_Bool`
        Bool = 0,
        /// `char`, which has a sign.
        Char = 1,
        /// `unsigned char`
        UChar = 2,
        /// `short`
        Short = 3,
        /// `unsigned short`
        UShort = 4,
        /// `int`
        Int = 5,
        /// `unsigned`
        UInt = 6,
        /// `long`
        Long = 7,
        /// `unsigned long`
        ULong = 8,
        /// `long long`
        LongLong = 9,
        /// `unsigned long long`
        ULongLong = 10,
        /// `float`
        Float = 11,
        /// `double`
        Double = 12,
        /// Any pointer.
        Pointer = 13,
        /// Bytes of memory, all the same.
        Memory = 14,
    }
}

impl OpenType {
    /// The name, which is also the end of the name of the function.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            OpenType::Bool => "bool",
            OpenType::Char => "char",
            OpenType::UChar => "uchar",
            OpenType::Short => "short",
            OpenType::UShort => "ushort",
            OpenType::Int => "int",
            OpenType::UInt => "uint",
            OpenType::Long => "long",
            OpenType::ULong => "ulong",
            OpenType::LongLong => "longlong",
            OpenType::ULongLong => "ulonglong",
            OpenType::Float => "float",
            OpenType::Double => "double",
            OpenType::Pointer => "pointer",
            OpenType::Memory => "memory",
        }
    }

    /// The least and the greatest whole number of the type that can be asked for.
    #[must_use]
    pub const fn range(self) -> (i64, i64) {
        match self {
            OpenType::Bool => (0, 1),
            OpenType::Char => (i8::MIN as i64, i8::MAX as i64),
            OpenType::UChar | OpenType::Memory => (0, u8::MAX as i64),
            OpenType::Short => (i16::MIN as i64, i16::MAX as i64),
            OpenType::UShort => (0, u16::MAX as i64),
            OpenType::Int => (i32::MIN as i64, i32::MAX as i64),
            OpenType::UInt => (0, u32::MAX as i64),
            OpenType::Long | OpenType::LongLong => (i64::MIN, i64::MAX),
            OpenType::ULong | OpenType::ULongLong => (0, i64::MAX),
            // What both can hold exactly.
            OpenType::Float => (-(1 << 24), 1 << 24),
            OpenType::Double => (-(1 << 53), 1 << 53),
            // An address.
            OpenType::Pointer => (0, i64::MAX),
        }
    }
}
