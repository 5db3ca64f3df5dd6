"""The file formats that can be read. Importing this imports none of their libraries."""

from dcd.table.formats.base import Format

FORMATS: dict[str, Format] = {
    "csv": Format("delimited:read_csv", (".csv", ".txt")),
    "tsv": Format("delimited:read_tsv", (".tsv", ".tab")),
    "parquet": Format("parquet:open_parquet", (".parquet", ".pq"), (b"PAR1",), in_parts=True),
    "arrow": Format("arrow:open_arrow", (".feather", ".arrow", ".ipc"), (b"ARROW1", b"FEA1"), in_parts=True),
    "npy": Format("numpy_files:open_array", (".npy",), (b"\x93NUMPY",), in_parts=True),
    "excel": Format("excel:read_excel", (".xlsx", ".xlsm"), (b"PK\x03\x04",)),
}
