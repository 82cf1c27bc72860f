# SPDX-License-Identifier: LGPL-2.1-or-later
"""Messages of protobuf, as a kubelet writes and reads them."""


def number(value):
    result = b""
    while value > 0x7f:
        result += bytes([value & 0x7f | 0x80])
        value >>= 7
    return result + bytes([value])


def write(fields):
    """Writes a message, {number of a field: value}: a number, a text, bytes, or a list of such values. A dictionary is a
    message; None is left out."""
    result = b""
    for field, values in fields.items():
        for value in values if isinstance(values, list) else [values]:
            if isinstance(value, dict):
                value = write(value)
            if isinstance(value, str):
                value = value.encode()
            if isinstance(value, bytes):
                result += number(field << 3 | 2) + number(len(value)) + value
            elif value is not None:
                result += number(field << 3) + number(value)
    return result


def write_map(entries):
    """Writes the values of a field that is a map."""
    return [{1: key, 2: value} for key, value in entries.items()]


def read_number(data):
    value = shift = 0
    for i, byte in enumerate(data):
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, data[i + 1:]
    raise ValueError("a number is cut")


def read(data):
    """Reads a message, {number of a field: [values]}: numbers and bytes."""
    fields = {}
    while data:
        key, data = read_number(data)
        value, data = read_number(data)
        if key & 7 == 2:
            value, data = data[:value], data[value:]
        fields.setdefault(key >> 3, []).append(value)
    return fields
