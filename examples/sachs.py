"""Protein signalling in T cells: discover the network, score it against the published one, draw it."""

import sys
from pathlib import Path

import dcd


def main(folder: Path) -> None:
    """Run Robust DCD on the packaged Sachs data, compare with the published method, draw and report."""
    data = dcd.datasets.load_sachs()
    rows, columns = data.frame.shape
    print(f"Sachs et al. (2005): {rows} cells, {columns} proteins\n")

    model = dcd.RobustDCD().fit(data.frame)
    print("Causal graph (-> from cause to effect, - direction left open):")
    print("  " + "\n  ".join(str(model.cpdag_).splitlines()))

    print("\nHow the fit went:")
    print("  " + "\n  ".join(str(model.diagnostics_).splitlines()))

    score = dcd.metrics.compare(data.cpdag, model.cpdag_)
    print(f"\nAgainst the published network of {int(data.dag.to_numpy().sum())} edges:")
    print(f"  pairs connected:  precision {score.skeleton_precision:.2f}, recall {score.skeleton_recall:.2f}")
    print(f"  with direction:   SHD_c {score.shd_c}, F1 {score.f1:.2f}")
    published = dcd.metrics.compare(data.cpdag, dcd.DCD().fit(data.frame).cpdag_)
    print(f"  DCD as published: SHD_c {published.shd_c}, F1 {published.f1:.2f}")
    print("  (Data without interventions cannot tell any direction of the published network: all its arrows")
    print("  can be reversed without changing any dependence. Every arrow found would count as wrong.)")

    picture, page = folder / "sachs.png", folder / "sachs.html"
    model.plot(truth=data.cpdag).figure.savefig(picture, dpi=150)
    dcd.report.write(dcd.summarise(model, title="Protein signalling in T cells"), page)
    print(f"\nPicture: {picture}\nReport:  {page} (open it in a browser)")


if __name__ == "__main__":
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    output.mkdir(parents=True, exist_ok=True)
    main(output)
