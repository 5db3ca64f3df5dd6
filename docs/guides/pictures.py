"""Make the pictures of the guides and the numbers of `confidence.md`: `python docs/guides/pictures.py`.

With both measurements, about twenty minutes on one core.
"""

import warnings
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import dcd
from dcd.graph.adjacency import directed_part, skeleton_of

IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#777777"
BINS = np.array([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0])  # each with its upper end


def level_table(n_tables: int = 60, n_resamples: int = 10) -> None:
    """Share of pairs of independent variables with an edge, by the way the rows are drawn."""
    draws: dict[str, Callable] = {
        "the table": lambda n, rng: np.arange(n),  # noqa: ARG005
        "bootstrap": lambda n, rng: rng.integers(n, size=n),
        "bootstrap of half": lambda n, rng: rng.integers(n, size=n // 2),
        "subsample of half": lambda n, rng: rng.permutation(n)[: n // 2],
    }
    for n_variables, n_rows in ((5, 300), (5, 1000), (10, 500)):
        for label, draw in draws.items():
            rng = np.random.default_rng(0)
            shares = []
            for _ in range(n_tables):
                table = rng.standard_normal((n_rows, n_variables))
                for _ in range(1 if label == "the table" else n_resamples):
                    graph = dcd.RobustDCD(progress=False).fit(table[draw(n_rows, rng)]).adjacency_matrix_
                    shares.append(skeleton_of(graph)[np.triu_indices(n_variables, 1)].mean())
            print(f"{n_variables} variables, {n_rows} rows, {label}: {np.mean(shares):.1%}", flush=True)


def measured_frequencies() -> dict[str, list[tuple[float, bool]]]:
    """(frequency, whether it is true) of every edge and every arrow that was ever found."""
    found: dict[str, list[tuple[float, bool]]] = {"edges": [], "arrows": []}
    settings = [*product((0.3,), ("func", "mlp"), range(6)), *product((1.0,), ("func", "mlp"), range(12))]
    for noise, mechanism, seed in settings:
        truth = dcd.simulate.random_dag(8, degree=4, graph="erdos-renyi", random_state=seed)
        table = dcd.simulate.sample(
            truth, 300, mechanism=mechanism, noise_std=noise, random_state=1000 + seed
        )
        result = dcd.stability(dcd.RobustDCD(), table, n_resamples=50, random_state=seed)
        true_edges, true_arrows = skeleton_of(truth), directed_part(dcd.graph.dag_to_cpdag(truth))
        for i, j in np.argwhere(np.triu(result.edge)):
            found["edges"].append((float(result.edge[i, j]), bool(true_edges[i, j])))
        for i, j in np.argwhere(result.directed):
            found["arrows"].append((float(result.directed[i, j]), bool(true_arrows[i, j])))
        print(noise, mechanism, seed, flush=True)
    return found


def binned(found: list[tuple[float, bool]]) -> list[tuple[float, float, float, int]]:
    """(mean frequency, share of true ones, its standard error, number) for each bin of frequencies."""
    frequency, true = (np.array(part, dtype=float) for part in zip(*found, strict=True))
    rows = []
    for low, high in pairwise(BINS):
        inside = (frequency > low + 1e-9) & (frequency <= high + 1e-9)
        if inside.any():
            share = float(true[inside].mean())
            error = float(np.sqrt(share * (1 - share) / inside.sum()))
            rows.append((float(frequency[inside].mean()), share, error, int(inside.sum())))
    return rows


def calibration_picture() -> None:
    """How often edges and arrows of a certain frequency are true."""
    found = measured_frequencies()
    _, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
    for what, colour, marker in (("edges", BLUE, "o"), ("arrows", ORANGE, "s")):
        rows = binned(found[what])
        for frequency, share, error, count in rows:
            print(f"{what}: frequency {frequency:.2f}, {share:.0%} ± {error:.0%} of {count} true")
        frequency, share, error, _ = zip(*rows, strict=True)
        ax.errorbar(frequency, share, error, fmt=f"{marker}-", color=colour, ms=5, capsize=3, label=what)
    ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="dotted")
    ax.set(xlabel="frequency in resamples", ylabel="share that is true", xlim=(0, 1.03), ylim=(0, 1.03))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, loc="lower right")
    plt.gcf().savefig(IMAGES / "confidence-calibration.png", dpi=130)
    plt.close()


def gallery() -> None:
    """The pictures of `plots.md`."""
    data = dcd.datasets.load_sachs()
    model = dcd.RobustDCD().fit(data.frame)
    stability = dcd.stability(model, data.frame, n_resamples=50)
    table = data.frame[["Raf", "Mek", "Erk", "Akt", "PKC", "P38", "Jnk"]]
    boundary = dcd.MarkovBoundary(target="PKA").fit(data.frame)
    figures = {
        "stability": model.plot(stability=stability).figure,
        "target": model.plot(target="PKA").figure,
        "weights": dcd.plot.plot_weights(dcd.weights.convex_weights(table), table),
        "boundary": dcd.plot.plot_boundary(boundary, data.frame),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"plots-{name}.png", dpi=110)
        plt.close(figure)
    (IMAGES / "plots-notebook.svg").write_text(data.cpdag._repr_svg_(), encoding="utf-8")


def effect_picture() -> None:
    """The answers of `effects.md`."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(as_frame=True, scaled=False).frame
    knowledge = dcd.Knowledge(roots=["age", "sex"], leaves=["target"])
    effect = dcd.RobustDCD(knowledge=knowledge).fit(table).effect("bmi", "target")
    effect.plot().figure.savefig(IMAGES / "effect.png", dpi=80)
    plt.close()


if __name__ == "__main__":
    mpl.use("Agg")
    warnings.simplefilter("ignore", dcd.errors.FailedResamplesWarning)
    gallery()
    effect_picture()
    calibration_picture()
    level_table()
