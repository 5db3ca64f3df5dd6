"""Arrow files (Feather) and streams, by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcd.table.formats.base import ReadOptions
from dcd.table.formats.columnar import ColumnFile, opened, with_checked_names


@dataclass(frozen=True)
class ArrowTable(ColumnFile):
    """A table in an Arrow file or stream."""

    def arrow_column(self, position: int) -> Any:
        """See `ColumnFile`."""
        with opened(self.content, self.label, "Arrow") as file:
            import pyarrow as pa

            if is_compressed(file):
                reader = _ipc_reader(file, [position])
                return pa.Table.from_batches(_batches(reader), schema=reader.schema)
            reader = _ipc_reader(file)  # maps all columns without copying
            batches = (batch.select([position]) for batch in _batches(reader))
            return pa.Table.from_batches(batches, schema=pa.schema([reader.schema.field(position)]))


def open_arrow(content: bytes | Path, label: str, options: ReadOptions) -> ColumnFile:  # noqa: ARG001
    """The table in an Arrow file or stream."""
    with opened(content, label, "Arrow") as file:
        schema = _ipc_reader(file).schema
        # Unpacking one column suffices to count rows.
        positions = [0] if schema.names and is_compressed(file) else None
        n_rows = sum(len(batch) for batch in _batches(_ipc_reader(file, positions)))
    return with_checked_names(ArrowTable, schema, n_rows, content, label)


def _ipc_reader(file: Any, positions: Sequence[int] | None = None) -> Any:
    """A reader of some or all columns of an Arrow file or stream, from its beginning."""
    from pyarrow import ipc

    options = ipc.IpcReadOptions(use_threads=False, included_fields=positions)
    is_file = _is_arrow_file(file)
    file.seek(0)
    return ipc.open_file(file, options=options) if is_file else ipc.open_stream(file, options=options)


def _batches(reader: Any) -> Iterator[Any]:
    """The record batches of an Arrow file or stream."""
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _is_arrow_file(file: Any) -> bool:
    """Whether it is an Arrow file rather than a stream."""
    file.seek(0)
    return bool(file.read(6) == b"ARROW1")


def is_compressed(file: Any) -> bool:
    """Whether the first batch is compressed; only then are columns unpacked one at a time."""
    message = _first_batch(file)
    if message is None:
        return False
    # Slot 2 of a message is the record batch, and slot 3 of that its compression, if any.
    metadata = message.metadata.to_pybytes()
    batch = _flatbuffer_slot(metadata, _number(metadata, 0), 2)
    assert batch is not None
    return _flatbuffer_slot(metadata, batch + _number(metadata, batch), 3) is not None


def _first_batch(file: Any) -> Any:
    """The message of the first record batch of an Arrow file or stream; None if there is none."""
    from pyarrow import ipc

    if not _is_arrow_file(file):
        file.seek(0)
        messages = ipc.MessageReader.open_stream(file)
        return next((message for message in messages if message.type == "record batch"), None)
    end = file.size() - len(b"ARROW1") - 4  # of the footer, followed by its length
    file.seek(end)
    length = _number(file.read(4), 0)
    file.seek(end - length)
    footer = file.read(length)
    blocks = _flatbuffer_slot(footer, _number(footer, 0), 3)  # positions of the record batches
    if blocks is None or not _number(footer, blocks + _number(footer, blocks)):
        return None
    file.seek(_number(footer, blocks + _number(footer, blocks) + 4, size=8))
    return ipc.read_message(file)


def _number(buffer: bytes, offset: int, size: int = 4) -> int:
    return int.from_bytes(buffer[offset : offset + size], "little")


def _flatbuffer_slot(buffer: bytes, table: int, slot: int) -> int | None:
    """Where one field of a flatbuffer table is; None if the table does not have it."""
    slots = table - int.from_bytes(buffer[table : table + 4], "little", signed=True)
    entry = slots + 4 + 2 * slot
    offset = _number(buffer, entry, size=2) if entry < slots + _number(buffer, slots, size=2) else 0
    return table + offset if offset else None
