use alloc::string::{String, ToString};
use core::fmt;

use serde::{
    Serialize,
    ser::{self, Impossible},
};

use super::writer::push_string;

/// Returns the value as compact JSON. No type of this crate that derives `Serialize` has values
/// without a JSON form here, such as fractions.
pub(crate) fn to_text(value: &(impl Serialize + ?Sized)) -> String {
    let mut out = String::new();
    let written = value.serialize(Writer(&mut out));
    debug_assert!(written.is_ok(), "{out}");
    out
}

struct Writer<'o>(&'o mut String);

/// Writes the members of the single member of an object.
struct Variant<'o>(Items<'o>);

/// Writes the items of a list, or the members of an object.
struct Items<'o> {
    out: &'o mut String,
    is_begun: bool,
    close: char,
}

#[derive(Debug)]
struct Unwritable;

type Written<T = ()> = Result<T, Unwritable>;

// A copy of these functions for each member of each type would weigh in WebAssembly.
#[expect(clippy::unnecessary_wraps, reason = "it ends what serde calls")]
impl<'o> Writer<'o> {
    #[inline(never)]
    fn push(self, text: &str) -> Written {
        self.0.push_str(text);
        Ok(())
    }

    #[inline(never)]
    fn items(self, open: char, close: char) -> Items<'o> {
        self.0.push(open);
        Items {
            out: self.0,
            is_begun: false,
            close,
        }
    }
}

// A copy of these functions for each member of each type would weigh in WebAssembly.
#[expect(clippy::unnecessary_wraps, reason = "it ends what serde calls")]
impl Items<'_> {
    #[inline(never)]
    fn next(&mut self) -> &mut String {
        if core::mem::replace(&mut self.is_begun, true) {
            self.out.push(',');
        }
        self.out
    }

    /// Begins a member, whose value follows.
    #[inline(never)]
    fn member(&mut self, name: &str) -> &mut String {
        push_string(self.next(), name);
        self.value()
    }

    /// Begins the value of the member whose name was written.
    #[inline(never)]
    fn value(&mut self) -> &mut String {
        self.out.push(':');
        self.out
    }

    fn close(self) -> Written {
        self.out.push(self.close);
        Ok(())
    }
}

macro_rules! numbers {
    ($($name:ident: $number:ty),*) => {
        $(fn $name(self, number: $number) -> Written {
            self.push(&number.to_string())
        })*
    };
}

impl<'o> ser::Serializer for Writer<'o> {
    type Ok = ();
    type Error = Unwritable;
    type SerializeSeq = Items<'o>;
    type SerializeTuple = Impossible<(), Unwritable>;
    type SerializeTupleStruct = Impossible<(), Unwritable>;
    type SerializeTupleVariant = Impossible<(), Unwritable>;
    type SerializeMap = Items<'o>;
    type SerializeStruct = Items<'o>;
    type SerializeStructVariant = Variant<'o>;

    numbers!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64);
    numbers!(serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);

    fn serialize_bool(self, flag: bool) -> Written {
        self.push(if flag { "true" } else { "false" })
    }

    fn serialize_f32(self, _: f32) -> Written {
        Err(Unwritable)
    }

    fn serialize_f64(self, _: f64) -> Written {
        Err(Unwritable)
    }

    fn serialize_char(self, character: char) -> Written {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, text: &str) -> Written {
        push_string(self.0, text);
        Ok(())
    }

    /// JSON has no such type: this writes [`Raw`](super::Raw).
    fn serialize_bytes(self, bytes: &[u8]) -> Written {
        self.push(str::from_utf8(bytes).map_err(|_| Unwritable)?)
    }

    fn serialize_none(self) -> Written {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.push("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Written {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Written {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Written {
        let mut object = self.items('{', '}');
        value.serialize(Writer(object.member(variant)))?;
        object.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Written<Items<'o>> {
        Ok(self.items('[', ']'))
    }

    fn serialize_tuple(self, _: usize) -> Written<Self::SerializeTuple> {
        Err(Unwritable)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Written<Self::SerializeTuple> {
        Err(Unwritable)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Written<Self::SerializeTuple> {
        Err(Unwritable)
    }

    fn serialize_map(self, _: Option<usize>) -> Written<Items<'o>> {
        Ok(self.items('{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Written<Items<'o>> {
        Ok(self.items('{', '}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Written<Variant<'o>> {
        let mut object = self.items('{', '}');
        object.member(variant);
        Ok(Variant(Writer(object.out).items('{', '}')))
    }
}

impl ser::SerializeSeq for Items<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(Writer(self.next()))
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeMap for Items<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Written {
        key.serialize(Writer(self.next()))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Written {
        value.serialize(Writer(self.value()))
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStruct for Items<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        value.serialize(Writer(self.member(name)))
    }

    fn end(self) -> Written {
        self.close()
    }
}

impl ser::SerializeStructVariant for Variant<'_> {
    type Ok = ();
    type Error = Unwritable;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        value.serialize(Writer(self.0.member(name)))
    }

    fn end(self) -> Written {
        self.0.out.push('}');
        self.0.close()
    }
}

impl ser::Error for Unwritable {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl fmt::Display for Unwritable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON has no form for this here")
    }
}

impl core::error::Error for Unwritable {}
