"""The audit of a table as one page of HTML that needs nothing else."""

from __future__ import annotations

from typing import Any

from dcd.cli.terminal import count
from dcd.cli.wording import with_options
from dcd.results.report.markup import escape

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --bad: #b3261e; --good: #1b6e3c; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --good: #7fd6a0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; }
th, td { border-bottom: 1px solid var(--line); }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
.bad { color: var(--bad); } .good { color: var(--good); }
"""


def audit_page(found: Any, title: str) -> str:
    """The page; every name from the data is escaped."""
    columns = "\n".join(_row(column) for column in found.columns)
    problems = "".join(f"<li>{escape(with_options(problem))}</li>" for problem in found.problems)
    verdict = (
        '<p class="good">Nothing is in the way.</p>'
        if found.ok
        else f'<h2 class="bad">{count(len(found.problems), "problem")}</h2><ul>{problems}</ul>'
    )
    heads = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in _HEADS)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Audit of {escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Audit of {escape(title)}</h1>
<p>{count(len(found.columns), "column")}, {count(found.n_rows, "row")}, {found.n_complete_rows} of them
without a missing value.</p>
{verdict}
<h2>Columns</h2>
<div class="scroll" role="region" aria-label="Columns" tabindex="0">
<table>
<thead><tr>{heads}</tr></thead>
<tbody>
{columns}
</tbody>
</table>
</div>
</main>
</body>
</html>
"""


_NUMBER = ' class="number"'
_HEADS = (
    ("Column", ""),
    ("Taken for", ""),
    ("Why", ""),
    ("Missing", _NUMBER),
    ("Distinct", _NUMBER),
    ("Problem and remedy", ""),
)


def _row(column: Any) -> str:
    advice = " ".join(part for part in (column.problem, with_options(column.remedy or "")) if part)
    cells = "".join(f"<td>{escape(str(cell))}</td>" for cell in (column.kind, column.why))
    numbers = "".join(f"<td{_NUMBER}>{int(number)}</td>" for number in (column.n_missing, column.n_distinct))
    return (
        f'<tr><th scope="row">{escape(str(column.name))}</th>{cells}{numbers}'
        f'<td class="bad">{escape(advice)}</td></tr>'
    )
