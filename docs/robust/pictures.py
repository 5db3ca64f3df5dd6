"""Make the pictures of the pages beside this file: `python docs/robust/pictures.py`, some five minutes."""

import warnings
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import dcd
from dcd.features.rank_scores import make_scores
from dcd.graph.adjacency import skeleton_of
from dcd.weights.convex import BalanceColumns

IMAGES = Path(__file__).parents[1] / "images"
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#777777"


def finish(axes, name):
    """Common style, then the file."""
    figure = axes[0].figure
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="#DDDDDD", lw=0.8)
        ax.set_axisbelow(True)
    figure.savefig(IMAGES / f"{name}.png", dpi=130)
    plt.close(figure)


def weights_picture():
    """Remaining dependence against effective sample size along the path.

    Dependence is the root mean square of all weighted means that should vanish: correlations of lines,
    squares and cubes of two variables.
    """
    rng = np.random.default_rng(0)
    common = rng.standard_normal(800)
    table = common[:, None] + rng.standard_normal((800, 4))
    convex = [
        dcd.weights.convex_weights(table, keep=floor, dependence=0.0) for floor in np.linspace(0.2, 0.97, 24)
    ]
    published = [
        dcd.weights.decoupling_weights(table, max_steps=steps, min_ess=0.1) for steps in range(1, 160, 8)
    ]
    products = BalanceColumns.of(make_scores(table), range(4)).part(slice(0, 800))
    _, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for results, label, colour in ((convex, "convex", BLUE), (published, "published (steps)", ORANGE)):
        columns = [float(np.sqrt(np.square(products.T @ result.weights / 800).mean())) for result in results]
        ax.plot([result.ess / 800 for result in results], columns, "o-", ms=4, color=colour, label=label)
    ax.set(xlabel="effective sample size / n", ylabel="dependence left (root mean square)")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    finish([ax], "robust-weights")


RELATIONS = {
    "line": lambda x, e: 0.2 * x + e,
    "x²": lambda x, e: 0.2 * x**2 + e,
    "log|x|": lambda x, e: 0.25 * np.log(np.abs(x)) + e,
    "sine": lambda x, e: 0.35 * np.sin(2 * x) + e,
    "spread": lambda x, e: np.exp(0.2 * x) * e,
    "exp, heavy": lambda x, e: np.exp(2.5 * x) / 20 + e,
    "independent": lambda _, e: e,
}


def test_picture():
    """How often each test detects a relation, at level 0.01, n = 400, 300 samples."""
    ours, pearson = [], []
    for relation in RELATIONS.values():
        seen = np.zeros(2)
        for seed in range(300):
            x, e = np.random.default_rng(seed).standard_normal((2, 400))
            y = relation(x, e)
            test = dcd.PartialAssociation().bind(make_scores(np.column_stack([x, y])), 0.01)
            seen[0] += test.log_pvalue(0, 1, ()) < np.log(0.01)
            seen[1] += stats.pearsonr(x, y).pvalue < 0.01
        ours.append(seen[0] / 300)
        pearson.append(seen[1] / 300)
    print("seen by ours", dict(zip(RELATIONS, ours, strict=True)))
    print("seen by Pearson", dict(zip(RELATIONS, pearson, strict=True)))
    _, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
    place = np.arange(len(RELATIONS))
    ax.bar(place - 0.2, ours, 0.4, color=BLUE, label="scores of ranks (Robust DCD)")
    ax.bar(place + 0.2, pearson, 0.4, color=ORANGE, label="Pearson (published)")
    ax.set_xticks(place, list(RELATIONS))
    ax.set(ylabel="share of samples with p < 0.01", ylim=(0, 1))
    ax.figure.legend(frameon=False, loc="outside upper center", ncols=2)
    finish([ax], "robust-test")


def interactions_picture():
    """C -> A, C -> B, T = A + B + A·B (+ effect · C): how often C is found to be a neighbour of T."""
    effects = [0.0, 0.1, 0.2, 0.3, 0.4]
    curves = {"B a line of C": lambda c: c, "B a square of C": lambda c: (c**2 - 1) / 1.4}
    tests = {
        "adjust only": dcd.PartialAssociation(decouple="never"),
        "weights only": dcd.WeightedAssociation(),
        "adjust, always decouple": dcd.PartialAssociation(decouple="always"),
        "adjust, decouple where needed": dcd.PartialAssociation(),
    }
    styles = {
        "adjust only": (ORANGE, "s"),
        "weights only": (GREEN, "^"),
        "adjust, always decouple": (GREY, "v"),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 4), layout="constrained", sharey=True)
    for ax, (title, curve) in zip(axes, curves.items(), strict=True):
        seen = {name: np.zeros(len(effects)) for name in tests}
        for index, effect in enumerate(effects):
            for seed in range(60):
                rng = np.random.default_rng([seed, index])
                c = rng.standard_normal(800)
                a, b = c + 0.5 * rng.standard_normal(800), curve(c) + 0.5 * rng.standard_normal(800)
                signal = a + b + a * b
                t = signal / signal.std() + effect * c + 0.5 * rng.standard_normal(800)
                scores = make_scores(np.column_stack([c, a, b, t]))
                for name, test in tests.items():
                    seen[name][index] += test.bind(scores, 0.05).log_pvalue(0, 3, (1, 2)) < np.log(0.05)
        print("interactions", title, {name: (counts / 60).round(2).tolist() for name, counts in seen.items()})
        for name, counts in seen.items():
            colour, marker = styles.get(name, (BLUE, "o"))
            ax.plot(effects, counts / 60, marker=marker, color=colour, label=name)
        ax.axhline(0.05, color=GREY, ls=":", lw=1)
        ax.set(title=title, xlabel="true effect of C on T", ylim=(0, 1.02))
    axes[0].set_ylabel("share of samples with p < 0.05")
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=2)
    finish(axes, "robust-interactions")


def trust_picture():
    """False edges of DCD against the dependence that decoupling left."""
    left, false, robust = [], [], []
    for noise in (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 4.0):
        for seed in range(8):
            rng = np.random.default_rng([seed, int(100 * noise), 4])
            graph = ("scale-free", "erdos-renyi")[seed % 2]
            dag = dcd.simulate.random_dag(8, graph=graph, random_state=rng)
            values = dcd.simulate.sample(dag, 500, noise_std=noise, random_state=rng)
            model = dcd.DCD(progress=False).fit(values)
            left.append(np.median([decoupled.dependence for decoupled in model.diagnostics_.sets[:8]]))
            false.append(_false_edges(dag, model))
            robust.append(_false_edges(dag, dcd.RobustDCD(progress=False).fit(values)))
    left, false, robust = map(np.array, (left, false, robust))
    print("trust: rank correlation", stats.spearmanr(left, false))
    for name, values in (("DCD", false), ("RobustDCD", robust)):
        above, below = values[left > 1], values[left <= 1]
        print(name, "above 1:", above.mean(), above.std() / len(above) ** 0.5, len(above))
        print(name, "below 1:", below.mean(), below.std() / len(below) ** 0.5, len(below))
    _, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    ax.axvspan(1, 100, color="#F4E3D7", lw=0)
    ax.scatter(left, false, color=ORANGE, s=26, label="DCD")
    ax.scatter(left, robust, color=BLUE, marker="x", s=26, label="RobustDCD on the same data")
    ax.set(xscale="log", xlim=(0.01, 40), xlabel="dependence left by decoupling (1: as chance leaves)")
    ax.set(ylabel="false edges per true edge")
    ax.legend(frameon=False)
    finish([ax], "robust-trust")


def _false_edges(dag, model):
    truth, found = skeleton_of(dag), skeleton_of(model.cpdag_.adjacency)
    return (found & ~truth).sum() / truth.sum()


if __name__ == "__main__":
    mpl.use("Agg")
    warnings.simplefilter("ignore", dcd.errors.SearchCutWarning)
    weights_picture()
    test_picture()
    interactions_picture()
    trust_picture()
