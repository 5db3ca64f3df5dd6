"""Mutated graphs, knowledge and results."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from support import public_surface

import dcd
from benchmarks.fuzz import Try
from benchmarks.fuzz.mutation import mutated
from dcd.cli.graph_files import read_graph


def documents(r: random.Random, folder: Path) -> Iterator[Try]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = dcd.RobustDCD(progress=False).fit(public_surface.TABLE)
    dcd.summarise(fitted).save(folder / "result.json")
    texts = {
        "graph.graphml": dcd.interop.to_graphml(public_surface.GRAPH),
        "graph.dot": dcd.interop.to_dot(public_surface.GRAPH),
        "graph.csv": public_surface.GRAPH.to_frame().to_csv(),
        "edges.csv": "from,to,type\na,b,->\nb,c,-\n",
        "result.json": (folder / "result.json").read_text(encoding="utf-8"),
        "knowledge.toml": "roots = ['a']\ntiers = [['a', 'b'], ['*']]\nforbidden = [['c', 'a']]\n",
    }
    readers = {".json": dcd.load_result, ".toml": dcd.Knowledge.from_toml}
    while True:
        name = r.choice(list(texts))
        path = folder / name
        path.write_bytes(mutated(r, texts[name].encode(r.choice(["utf-8", "utf-8", "utf-16"]))))
        reader = readers.get(path.suffix, read_graph)
        yield (
            f"documents: {name} {path.read_bytes()[:40]!r}",
            partial(reader, str(path)),
        )
