//! Arrays, numbers and texts from C, and back.
//!
//! A pointer is checked as far as possible: null, alignment, length. The caller promises that it
//! leads to as many values as stated.

use crate::codes::REMAT_ERROR_NULL;
use crate::trouble::Trouble;
use std::ffi::{CStr, c_char};
use std::slice;

/// A length as an index.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT` for a number below 0.
pub fn length(name: &str, count: i64) -> Result<usize, Trouble> {
    usize::try_from(count)
        .map_err(|_| Trouble::argument(format!("{name} is {count}; a number from 0 up is needed")))
}

fn null(name: &str) -> Trouble {
    Trouble::new(REMAT_ERROR_NULL, format!("{name} is a null pointer"))
}

fn check<T>(name: &str, pointer: *const T, count: usize) -> Result<(), Trouble> {
    if pointer.is_null() {
        return Err(null(name));
    }
    if !pointer.is_aligned() {
        let text = format!("{name} is no array of numbers of {} bytes", size_of::<T>());
        return Err(Trouble::argument(text));
    }
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) if isize::try_from(bytes).is_ok() => Ok(()),
        _ => Err(Trouble::argument(format!(
            "{name} cannot have {count} entries"
        ))),
    }
}

/// An array.
///
/// # Errors
/// `REMAT_ERROR_NULL`, unless it is empty; `REMAT_ERROR_ARGUMENT`.
///
/// # Safety
/// `count` values are at a pointer that is not null, and do not change during the call.
pub unsafe fn array<'a, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<&'a [T], Trouble> {
    if count == 0 {
        return Ok(&[]);
    }
    check(name, pointer, count)?;
    // SAFETY: not null, aligned and no longer than memory; the rest is the caller's promise.
    Ok(unsafe { slice::from_raw_parts(pointer, count) })
}

/// An array that may be left out.
///
/// # Errors
/// As [`array()`].
///
/// # Safety
/// As for [`array()`].
pub unsafe fn array_or_none<'a, T>(
    name: &str,
    pointer: *const T,
    count: usize,
) -> Result<Option<&'a [T]>, Trouble> {
    match pointer.is_null() {
        true => Ok(None),
        // SAFETY: passed on.
        false => unsafe { array(name, pointer, count).map(Some) },
    }
}

/// A text.
///
/// # Errors
/// `REMAT_ERROR_NULL`; `REMAT_ERROR_ARGUMENT` for bytes that are not UTF-8.
///
/// # Safety
/// A NUL ends the bytes at a pointer that is not null, and they do not change during the call.
pub unsafe fn text<'a>(name: &str, pointer: *const c_char) -> Result<&'a str, Trouble> {
    if pointer.is_null() {
        return Err(null(name));
    }
    // SAFETY: not null; the rest is the caller's promise.
    let text = unsafe { CStr::from_ptr(pointer) };
    let wrong = |_| Trouble::argument(format!("{name} is not UTF-8"));
    text.to_str().map_err(wrong)
}

/// A text that may be left out.
///
/// # Errors
/// As [`text`].
///
/// # Safety
/// As for [`text`].
pub unsafe fn text_or_none<'a>(
    name: &str,
    pointer: *const c_char,
) -> Result<Option<&'a str>, Trouble> {
    match pointer.is_null() {
        true => Ok(None),
        // SAFETY: passed on.
        false => unsafe { text(name, pointer).map(Some) },
    }
}

/// Optional texts in an optional array.
///
/// # Errors
/// As [`text`].
///
/// # Safety
/// As for [`array()`] and [`text`].
pub unsafe fn texts<'a>(
    name: &str,
    pointer: *const *const c_char,
    count: usize,
) -> Result<Vec<Option<&'a str>>, Trouble> {
    // SAFETY: passed on.
    match unsafe { array_or_none(name, pointer, count)? } {
        None => Ok(vec![None; count]),
        Some(list) => list
            .iter()
            // SAFETY: passed on.
            .map(|&each| unsafe { text_or_none(name, each) })
            .collect(),
    }
}

/// Checks before any work that an output can be written to, if it is wanted.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT`.
pub fn output<T>(name: &str, pointer: *mut T) -> Result<(), Trouble> {
    match pointer.is_null() {
        true => Ok(()),
        false => check(name, pointer, 1),
    }
}

/// Writes one value.
///
/// # Errors
/// `REMAT_ERROR_NULL`, `REMAT_ERROR_ARGUMENT`.
///
/// # Safety
/// A pointer that is not null can be written to.
pub unsafe fn put<T: Copy>(name: &str, pointer: *mut T, value: T) -> Result<(), Trouble> {
    check(name, pointer, 1)?;
    // SAFETY: not null and aligned; the rest is the caller's promise.
    unsafe { pointer.write(value) };
    Ok(())
}

/// Writes one value if it is wanted.
///
/// # Errors
/// As [`put`].
///
/// # Safety
/// As for [`put`].
pub unsafe fn put_if_wanted<T: Copy>(name: &str, pointer: *mut T, value: T) -> Result<(), Trouble> {
    match pointer.is_null() {
        true => Ok(()),
        // SAFETY: passed on.
        false => unsafe { put(name, pointer, value) },
    }
}

/// Writes an array for which there is room for `count` values.
///
/// # Errors
/// `REMAT_ERROR_NULL`; `REMAT_ERROR_ARGUMENT` if the count differs from the number of values.
///
/// # Safety
/// `count` values can be written at a pointer that is not null.
pub unsafe fn put_array<T: Copy>(
    name: &str,
    pointer: *mut T,
    count: usize,
    values: &[T],
) -> Result<(), Trouble> {
    if count != values.len() {
        let needed = values.len();
        let text = format!("{name} has room for {count} values, there are {needed}");
        return Err(Trouble::argument(text));
    }
    if count == 0 {
        return Ok(());
    }
    check(name, pointer, count)?;
    // SAFETY: not null and aligned, of values that C does not own; the rest is the caller's
    // promise.
    unsafe { pointer.copy_from_nonoverlapping(values.as_ptr(), count) };
    Ok(())
}

/// Writes an array if it is wanted.
///
/// # Errors
/// As [`put_array`].
///
/// # Safety
/// As for [`put_array`].
pub unsafe fn put_array_if_wanted<T: Copy>(
    name: &str,
    pointer: *mut T,
    values: &[T],
) -> Result<(), Trouble> {
    match pointer.is_null() {
        true => Ok(()),
        // SAFETY: passed on.
        false => unsafe { put_array(name, pointer, values.len(), values) },
    }
}

/// Writes a text with a NUL at its end, and the number of bytes that this takes.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT` if there is less room; then only that number is written.
///
/// # Safety
/// `room` bytes can be written at `buffer`, and a number at `needed`, if they are not null.
pub unsafe fn put_text(
    text: &str,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> Result<(), Trouble> {
    let bytes: Vec<c_char> = text
        .bytes()
        .map(|b| if b == 0 { b' ' } else { b } as c_char)
        .chain([0])
        .collect();
    // SAFETY: passed on.
    unsafe { put_if_wanted("needed", needed, bytes.len())? };
    if buffer.is_null() && room == 0 && !needed.is_null() {
        return Ok(());
    }
    if room < bytes.len() {
        let text = format!("the buffer has {room} bytes, {} are needed", bytes.len());
        return Err(Trouble::argument(text));
    }
    // SAFETY: there is room for more.
    unsafe { put_array("buffer", buffer, bytes.len(), &bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::REMAT_ERROR_ARGUMENT;
    use std::ptr;

    #[test]
    fn arrays_are_checked_before_they_are_read() {
        let values = [1.5f64, 2.5];
        // SAFETY: two values.
        assert_eq!(unsafe { array("a", values.as_ptr(), 2) }, Ok(&values[..]));
        // SAFETY: no value is read.
        unsafe {
            assert_eq!(array::<f64>("a", ptr::null(), 0), Ok(&[][..]));
            let null = array::<f64>("a", ptr::null(), 1).unwrap_err();
            assert_eq!(
                (null.code, null.text.as_str()),
                (REMAT_ERROR_NULL, "a is a null pointer")
            );
            let odd = values.as_ptr().wrapping_byte_add(1);
            assert_eq!(array("a", odd, 1).unwrap_err().code, REMAT_ERROR_ARGUMENT);
            let long = array("a", values.as_ptr(), usize::MAX / 4);
            assert_eq!(long.unwrap_err().code, REMAT_ERROR_ARGUMENT);
            assert_eq!(array_or_none::<f64>("a", ptr::null(), 5), Ok(None));
        }
        assert_eq!(length("n", -1).unwrap_err().code, REMAT_ERROR_ARGUMENT);
    }

    #[test]
    fn texts_say_how_much_room_they_need() {
        let (mut buffer, mut needed) = ([7 as c_char; 6], 0usize);
        // SAFETY: six bytes.
        unsafe {
            let small = put_text("größer", buffer.as_mut_ptr(), 6, &mut needed);
            assert_eq!(small.unwrap_err().code, REMAT_ERROR_ARGUMENT);
            assert_eq!((needed, buffer), (9, [7; 6]));
            put_text("klein", buffer.as_mut_ptr(), 6, ptr::null_mut()).unwrap();
            assert_eq!(text("t", buffer.as_ptr()), Ok("klein"));
            put_text("klein", ptr::null_mut(), 0, &mut needed).unwrap();
            assert_eq!(needed, 6);
            assert!(put_text("klein", ptr::null_mut(), 0, ptr::null_mut()).is_err());
            assert!(text("t", c"\xff".as_ptr()).is_err());
        }
    }

    #[test]
    fn lists_of_texts_may_have_gaps() {
        let list = [c"a".as_ptr(), ptr::null()];
        // SAFETY: two pointers.
        unsafe {
            assert_eq!(texts("n", list.as_ptr(), 2), Ok(vec![Some("a"), None]));
            assert_eq!(texts("n", ptr::null(), 2), Ok(vec![None, None]));
        }
    }
}
