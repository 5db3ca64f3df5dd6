/* A Markov chain over DAGs: Metropolis-Hastings on family scores and a prior of the whole graph; see graph_chain.py. */
#include "native.h"

#include <math.h>

static const double SWAPS = 0.3; /* share of the steps that exchange a parent */

/* The interface of NumPy's random generators. */
typedef struct {
    void *state;
    uint64_t (*next_uint64)(void *);
    uint32_t (*next_uint32)(void *);
    double (*next_double)(void *);
    uint64_t (*next_raw)(void *);
} Generator;

/* The state of a chain; see `ChainState` in graph_chain.py, whose fields come first and in order. */
typedef struct {
    bool *dag;
    double *scores;
    Index *n_parents;
    double *totals;
    Index *counts;
    const uint64_t *signs;
    uint64_t *families;
    uint64_t *keys;
    double *known;
    Index *moved;   /* (2, 2) */
    double *before; /* (2,) */
    bool *sampled;  /* (k, d, d) */
    Index *parents;
    bool *curved;
    bool *seen;
    Index *stack;
    bool *arrows, *lines;
    int8_t *types;
    /* sizes */
    Index n_variables, n_keys, n_sampled;
} Chain;

/* The settings of a chain; see `Plan` in graph_chain.py. */
typedef struct {
    const bool *curves; /* (d, d) [u, v]: whether u enters the family of v as a curve at first */
    const Index *pairs; /* (p, 2) the pairs whose relation a step may change */
    const double *log_prior; /* (q, q) by number of edges and of parents beyond the first */
    const bool *oriented;
    double temper;
    Index n_pairs, n_prior, n_steps, n_kept;
} Plan;

SIZE_OF(Chain);
SIZE_OF(Plan);

static double uniform(Generator *generator) { return generator->next_double(generator->state); }

/* --- families --- */

/* Whether a parent may enter as a curve. */
static bool has_curve(const Model *model, Index child, Index parent)
{
    return model->may_curve[child] && n_columns(model, parent, true) > model->n_line[parent];
}

/* The score of a family in the best form found from the one that it has.
 * It depends on the family alone, never on the graph around it, so that all chains have the same target. */
static double best_score(const Model *model, Space *space, Family *family)
{
    const Index child = family->child, n = family->n_parents;
    if (n == 0 || model->n_levels[child])
        return score_of(model, space, family);
    Regression *work = &space->regression;
    reserve(model, space, n, model->may_cross[child]);
    family->crossed = 0;
    Index size = regression(model, space, family), end = size;
    double best = evidence(model, child, work->sums + size * work->width);
    for (Index products = 0; n > 1 && products < model->may_cross[child]; products++) {
        end = append_products(model, family, 1, n, products, products + 1, work, end);
        double score = evidence(model, child, work->sums + end * work->width);
        if (score > best) {
            best = score;
            family->crossed = products + 1;
            size = end;
        }
    }
    bool inverted = false;
    for (Index at = 0; n > 1 && at < n; at++) {
        const Index parent = family->parents[at];
        if (!has_curve(model, child, parent))
            continue;
        if (!family->curved[at]) {
            end = append_parent(
                model, child, parent, model->n_line[parent], n_columns(model, parent, true), work, size);
            double score = evidence(model, child, work->sums + end * work->width);
            if (score > best) {
                best = score;
                size = end;
                inverted = false;
                family->curved[at] = true;
            }
            continue;
        }
        if (!inverted)
            invert(space, size);
        inverted = true;
        if (evidence_without(model, space, child, parent, true, family->crossed, size) > best) {
            family->curved[at] = inverted = false;
            size = regression(model, space, family);
            best = evidence(model, child, work->sums + size * work->width);
        }
    }
    return best - prices(model, child, family->parents, n);
}

/* The family that a child has in a graph, each parent in the form that it prefers alone. */
static Family family_in(const bool *dag, const bool *curves, Index d, Index child, Index *parents, bool *curved)
{
    Family family = {child, parents, curved, 0, 0, 0.0};
    for (Index parent = 0; parent < d; parent++)
        if (dag[parent * d + child]) {
            parents[family.n_parents] = parent;
            curved[family.n_parents++] = curves[parent * d + child];
        }
    return family;
}

/* Score the family that a child has in the graph, and remember it. */
static void score_family(const Model *model, Space *space, Chain *chain, const Plan *plan, Index child)
{
    Family family = family_in(chain->dag, plan->curves, chain->n_variables, child, chain->parents, chain->curved);
    chain->scores[child] = best_score(model, space, &family);
    const Index slot = (Index)(chain->families[child] % (uint64_t)chain->n_keys);
    chain->keys[slot] = chain->families[child];
    chain->known[slot] = chain->scores[child];
}

/* --- steps --- */

static double log_probability(const Chain *chain, const Plan *plan)
{
    double total = 0.0;
    for (Index v = 0; v < chain->n_variables; v++)
        total += chain->scores[v];
    return total / plan->temper + plan->log_prior[chain->counts[0] * plan->n_prior + chain->counts[1]];
}

/* Score the graph of a new chain. */
static void start_chain(const Model *model, Space *space, Chain *chain, const Plan *plan)
{
    const Index d = chain->n_variables;
    for (Index child = 0; child < d; child++) {
        chain->families[child] = chain->signs[d + child];
        for (Index parent = 0; parent < d; parent++)
            if (chain->dag[parent * d + child])
                chain->families[child] ^= chain->signs[parent];
        score_family(model, space, chain, plan, child);
        chain->counts[0] += chain->n_parents[child];
        chain->counts[1] += most(chain->n_parents[child] - 1, 0);
    }
    chain->totals[0] = log_probability(chain, plan);
}

/* Add an arrow or remove it. */
static void toggle(Chain *chain, Index parent, Index child)
{
    bool *arrow = chain->dag + parent * chain->n_variables + child;
    const Index before = chain->n_parents[child], after = *arrow ? before - 1 : before + 1;
    *arrow = !*arrow;
    chain->n_parents[child] = after;
    chain->families[child] ^= chain->signs[parent];
    chain->counts[0] += after - before;
    chain->counts[1] += most(after - 1, 0) - most(before - 1, 0);
}

/* Add an arrow or remove it, as a part of a step after `count` others; returns how many there are now. */
static Index move(Chain *chain, Index parent, Index child, Index count)
{
    chain->moved[2 * count] = parent;
    chain->moved[2 * count + 1] = child;
    chain->before[count] = chain->scores[child];
    toggle(chain, parent, child);
    return count + 1;
}

/* Undo a step. */
static void take_back(Chain *chain, Index count)
{
    for (Index at = 0; at < count; at++) {
        toggle(chain, chain->moved[2 * at], chain->moved[2 * at + 1]);
        chain->scores[chain->moved[2 * at + 1]] = chain->before[at];
    }
}

/* Whether an arrow would close a cycle in the graph without another arrow. */
static bool closes_cycle(Chain *chain, Index parent, Index child, Index without_parent, Index without_child)
{
    bool *arrow = chain->dag + without_parent * chain->n_variables + without_child, present = *arrow;
    *arrow = false;
    bool cyclic = has_path(chain->dag, chain->n_variables, child, parent, chain->seen, chain->stack);
    *arrow = present;
    return cyclic;
}

/* Propose a different relation between two variables; returns how many arrows change. */
static Index change_relation(const Model *model, Chain *chain, Index u, Index v, Generator *generator)
{
    const Index d = chain->n_variables;
    const bool forward = chain->dag[u * d + v], backward = chain->dag[v * d + u], joined = forward || backward;
    if ((forward && model->required[u * d + v]) || (backward && model->required[v * d + u]))
        return 0;
    const bool first = uniform(generator) < 0.5;
    const bool arrow = joined ? backward && first : first;      /* u -> v is proposed */
    const bool opposite = joined ? forward && first : !first; /* v -> u is proposed */
    if ((arrow && !model->allowed[u * d + v]) || (opposite && !model->allowed[v * d + u]))
        return 0;
    if ((arrow && closes_cycle(chain, u, v, v, u)) || (opposite && closes_cycle(chain, v, u, u, v)))
        return 0;
    Index count = 0;
    if (opposite != backward)
        count = move(chain, v, u, count);
    if (arrow != forward)
        count = move(chain, u, v, count);
    return count;
}

/* Propose a new parent of a child in place of an existing one; returns how many arrows change. */
static Index exchange_parent(const Model *model, Chain *chain, Index new, Index child, Generator *generator)
{
    const Index d = chain->n_variables, n_parents = chain->n_parents[child];
    if (n_parents == 0 || chain->dag[new * d + child] || chain->dag[child * d + new] || !model->allowed[new * d + child])
        return 0;
    Index nth = (Index)(uniform(generator) * (double)n_parents), old = -1;
    while (nth >= 0)
        nth -= chain->dag[++old * d + child];
    if (model->required[old * d + child] || closes_cycle(chain, new, child, old, child))
        return 0;
    return move(chain, new, child, move(chain, old, child, 0));
}

/* Change the graph by a step, if the prior has space for its edges; returns how many arrows change. */
static Index propose(const Model *model, Chain *chain, const Plan *plan, Generator *generator)
{
    const Index *pair = plan->pairs + 2 * (Index)(uniform(generator) * (double)plan->n_pairs);
    const bool swapped = uniform(generator) < 0.5;
    const Index u = pair[swapped], v = pair[!swapped];
    if (uniform(generator) < SWAPS)
        return exchange_parent(model, chain, u, v, generator);
    Index count = change_relation(model, chain, u, v, generator);
    if (chain->counts[0] < plan->n_prior)
        return count;
    take_back(chain, count);
    return 0;
}

/* Score the families that a step changed, and keep the step or undo it. */
static void decide(const Model *model, Space *space, Chain *chain, const Plan *plan, Index count, Generator *generator)
{
    for (Index at = 0; at < count; at++) {
        const Index child = chain->moved[2 * at + 1];
        const Index slot = (Index)(chain->families[child] % (uint64_t)chain->n_keys);
        if (chain->keys[slot] == chain->families[child])
            chain->scores[child] = chain->known[slot];
        else
            score_family(model, space, chain, plan, child);
    }
    const double total = log_probability(chain, plan);
    if (log(uniform(generator)) >= total - chain->totals[0])
        take_back(chain, count);
    else
        chain->totals[0] = total;
}

/* Count the types of all pairs in the current graph, and keep it as the nth sampled one. */
static void count_graph(Chain *chain, const bool *oriented, double *counts, Index nth)
{
    const Index n_cells = chain->n_variables * chain->n_variables;
    write_types(chain->dag, oriented, chain->n_variables, chain->arrows, chain->lines, chain->types);
    for (Index cell = 0; cell < n_cells; cell++)
        counts[(Index)chain->types[cell] * n_cells + cell] += 1.0;
    for (Index cell = 0; nth < chain->n_sampled && cell < n_cells; cell++)
        chain->sampled[nth * n_cells + cell] = chain->dag[cell];
}

/* --- for Python --- */

typedef struct {
    Chain *chain;
    const Plan *plan;
    double *counts;
    Generator *generator;
} ChainTask;

static void chain_task(const Model *model, Space *space, void *argument)
{
    ChainTask *task = argument;
    const Plan *plan = task->plan;
    Chain *chain = task->chain;
    const Index n_steps = plan->n_steps, burn_in = n_steps / 5, every = most(n_steps / plan->n_kept, 1);
    const Index size = 4 * chain->n_variables * chain->n_variables;
    start_chain(model, space, chain, plan);
    for (Index step = 0; plan->n_pairs > 0 && step < n_steps + burn_in; step++) {
        const Index count = propose(model, chain, plan, task->generator), counted = step - burn_in;
        if (count > 0)
            decide(model, space, chain, plan, count, task->generator);
        if (counted >= 0 && counted % every == 0) {
            double *half = task->counts + (2 * counted / n_steps) * size;
            count_graph(chain, plan->oriented, half, counted * chain->n_sampled / n_steps);
        }
    }
}

/* Run a chain and add to the counts (2, 4, d, d) of the types of all pairs; see `run_chain` in graph_chain.py. */
EXPORT int run_chain(const Model *model, Chain *chain, const Plan *plan, double *counts, Generator *generator)
{
    ChainTask task = {chain, plan, counts, generator};
    return with_space(model, chain_task, &task);
}

static void curves_task(const Model *model, Space *space, void *argument)
{
    bool *curves = argument, curved;
    Index d = model->n_variables, parent;
    for (Index child = 0; child < d; child++)
        for (parent = 0; parent < d; parent++) {
            if (parent == child || !has_curve(model, child, parent))
                continue;
            Family family = {child, &parent, &curved, 1, 0, 0.0};
            curved = false;
            double line = score_of(model, space, &family);
            curved = true;
            curves[parent * d + child] = score_of(model, space, &family) > line;
        }
}

/* Write (d, d) [u, v]: whether u alone explains v better as a curve than as a line. */
EXPORT int preferred_curves(const Model *model, bool *curves)
{
    return with_space(model, curves_task, curves);
}

typedef struct {
    const bool *dag, *curves;
    Index *parents; /* (d + 2,) workspace */
    bool *curved;
    double *scores;
} PartnerTask;

/* Write the scores of a family with each of the other variables as one more parent. */
static void scores_with(const Model *model, Space *space, Family family, const bool *curves, double *scores)
{
    const Index d = model->n_variables, child = family.child, n = family.n_parents;
    Regression *work = &space->regression;
    Index size = 0;
    if (!model->n_levels[child]) {
        reserve(model, space, n + 1, 0);
        size = regression(model, space, &family);
    }
    for (Index other = 0; other < d; other++) {
        if (other == child || !model->allowed[other * d + child] || is_parent(&family, other))
            continue;
        double *score = scores + other * d + child;
        family.parents[n] = other;
        if (model->n_levels[child]) {
            *score = counted_score(model, space, child, family.parents, n + 1);
        } else {
            Index stop = n_columns(model, other, curves[other * d + child]);
            Index end = append_parent(model, child, other, 0, stop, work, size);
            *score = evidence(model, child, work->sums + end * work->width) - prices(model, child, family.parents, n + 1);
        }
    }
}

static void partner_task(const Model *model, Space *space, void *argument)
{
    PartnerTask *task = argument;
    const Index d = model->n_variables;
    for (Index child = 0; child < d; child++) {
        Family family = family_in(task->dag, task->curves, d, child, task->parents, task->curved);
        scores_with(model, space, family, task->curves, task->scores);
        family.n_parents = 0;
        scores_with(model, space, family, task->curves, task->scores + d * d);
    }
}

/* Write (2, d, d) [., u, v]: the score of v with u as an additional parent, and with u as its only one. */
EXPORT int partner_scores(
    const Model *model, const bool *dag, const bool *curves, Index *parents, bool *curved, double *scores)
{
    PartnerTask task = {dag, curves, parents, curved, scores};
    return with_space(model, partner_task, &task);
}
