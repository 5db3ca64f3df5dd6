"""Protein signalling in T cells: discover the network, score it against the published one, draw it."""

import sys
from pathlib import Path

import dcd


def main() -> None:
    """Run Robust DCD on the packaged Sachs data, compare with the published method, draw and report."""
    data = dcd.datasets.load_sachs()
    rows, columns = data.frame.shape
    print(f"Sachs et al. (2005): {rows} cells, {columns} proteins\n")

    model = dcd.RobustDCD().fit(data.frame)
    print("Causal graph (-> cause to effect, - direction cannot be told):")
    print("  " + str(model.cpdag_).replace("\n", "\n  "))

    print("\nWhat the data contradicted:")
    for conflict in model.conflicts_ or ["nothing"]:
        print(f"  {conflict}")

    print("\nHow decoupling went:")
    print("  " + str(model.diagnostics_).replace("\n", "\n  "))

    score = dcd.metrics.compare(data.cpdag, model.cpdag_)
    print(f"\nAgainst the published network of {int(data.dag.to_numpy().sum())} edges:")
    print(f"  pairs connected:  precision {score.skeleton_precision:.2f}, recall {score.skeleton_recall:.2f}")
    print(f"  with direction:   SHD_c {score.shd_c}, F1 {score.f1:.2f}")
    published = dcd.metrics.compare(data.cpdag, dcd.DCD().fit(data.frame).cpdag_)
    print(f"  DCD as published: SHD_c {published.shd_c}, F1 {published.f1:.2f}")
    print("  (No direction of the published network can be told from such data, so every arrow found would")
    print("  count as wrong: all its arrows can be reversed without changing any dependence.)")

    picture = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output/sachs.png")
    picture.parent.mkdir(parents=True, exist_ok=True)
    dcd.plot.plot_cpdag(model.cpdag_, truth=data.cpdag).figure.savefig(picture, dpi=150)
    print(f"\nPicture: {picture}")

    page = picture.with_name("report.html")
    dcd.report.write(dcd.summarise(model, title="Protein signalling in T cells"), page)
    print(f"Report:  {page} (open it in a browser)")


if __name__ == "__main__":
    main()
