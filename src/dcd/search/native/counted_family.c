/* Families of children with few levels, which are counted: BDeu and, for parents that are not counted, a regression. */
#include "native.h"

#include <math.h>

static const Index MOST_CONFIGURATIONS = 1000000; /* of the parents */

/* Number the configurations of rows that occur, in place and in their order; returns how many there are. */
static Index renumber(Index *configuration, Index n_rows, Index *numbers, Index n_present)
{
    Index count = 0;
    for (Index at = 0; at < n_present; at++)
        numbers[at] = 0;
    for (Index row = 0; row < n_rows; row++)
        numbers[configuration[row]] = 1;
    for (Index at = 0; at < n_present; at++)
        if (numbers[at])
            numbers[at] = count++;
    for (Index row = 0; row < n_rows; row++)
        configuration[row] = numbers[configuration[row]];
    return count;
}

/* The evidence of counts by configuration and level, under Dirichlet priors that count as a share of a sample each. */
static double log_evidence_of_counts(const double *counts, Index n_configurations, Index n_levels, double share)
{
    const double cell = share / (double)n_levels, log_cell = lgamma(cell), log_share = lgamma(share);
    double total = 0.0;
    for (Index at = 0; at < n_configurations; at++) {
        double together = 0.0;
        for (Index level = 0; level < n_levels; level++) {
            double count = counts[at * n_levels + level];
            if (count > 0.0) {
                together += count;
                total += lgamma(cell + count) - log_cell;
            }
        }
        if (together > 0.0)
            total += log_share - lgamma(share + together);
    }
    return total;
}

/* The BDeu evidence (equivalent sample size 1) of a category, relative to that without parents.
 * Only parents with few levels count, whatever their order. The time depends on how many of their configurations
 * occur, not on how many are possible. */
static double bdeu(const Model *model, Space *space, Index child, const Index *parents, Index n_parents)
{
    const Index n_rows = model->n_rows, n_levels = model->n_levels[child];
    Index n_possible = 1, n_present = 1, *configuration = space->configuration, *ordered = space->ordered;
    for (Index row = 0; row < n_rows; row++)
        configuration[row] = 0;
    for (Index at = 0; at < n_parents; at++) { /* insertion sort */
        Index to = at;
        for (; to > 0 && ordered[to - 1] > parents[at]; to--)
            ordered[to] = ordered[to - 1];
        ordered[to] = parents[at];
    }
    for (Index at = 0; at < n_parents; at++) {
        const Index levels = model->n_levels[ordered[at]], *codes = model->codes + ordered[at] * n_rows;
        if (!levels)
            continue;
        n_possible *= levels;
        if (n_possible > MOST_CONFIGURATIONS)
            return -LACKING;
        n_present *= levels;
        space->numbers = at_least(space, space->numbers, &space->n_numbers, n_present, sizeof(Index));
        for (Index row = 0; row < n_rows; row++)
            configuration[row] = configuration[row] * levels + codes[row];
        if (n_present > n_rows)
            n_present = renumber(configuration, n_rows, space->numbers, n_present);
    }
    const Index n_cells = (n_present + 1) * n_levels;
    space->counts = at_least(space, space->counts, &space->n_counts, n_cells, sizeof(double));
    double *counts = space->counts, *together = counts + n_present * n_levels;
    const Index *codes = model->codes + child * n_rows;
    for (Index at = 0; at < n_cells; at++)
        counts[at] = 0.0;
    for (Index row = 0; row < n_rows; row++)
        counts[configuration[row] * n_levels + codes[row]] += model->weights[row];
    for (Index at = 0; at < n_present; at++)
        for (Index level = 0; level < n_levels; level++)
            together[level] += counts[at * n_levels + level];
    return log_evidence_of_counts(counts, n_present, n_levels, 1.0 / (double)n_possible)
        - log_evidence_of_counts(together, 1, n_levels, 1.0);
}

/* The evidence of the parents with few levels of a child with few levels: cached once it has been computed. */
static double evidence_of_counts(const Model *model, Space *space, Index child, const Index *parents, Index n_parents)
{
    uint64_t key = model->signs[model->n_variables + child];
    for (Index at = 0; at < n_parents; at++)
        if (model->n_levels[parents[at]])
            key ^= model->signs[parents[at]];
    Index slot = (Index)(key % (uint64_t)model->n_keys);
    if (model->keys[slot] != key) {
        model->known[slot] = bdeu(model, space, child, parents, n_parents);
        model->keys[slot] = key;
    }
    return model->known[slot];
}

/* What the parents that are not counted add to the evidence of a child with few levels, in a regression. */
static double evidence_beyond_counts(const Model *model, Space *space, Index child, const Index *parents, Index n_parents)
{
    reserve(model, space, n_parents, 0);
    Regression *work = empty_regression(model, space, child);
    double counted = 0.0;
    Index size = 0;
    for (int few = 1; few >= 0; few--) {
        for (Index at = 0; at < n_parents; at++)
            if ((model->n_levels[parents[at]] > 0) == few)
                size = append_parent(model, child, parents[at], 0, model->n_line[parents[at]], work, size);
        if (few)
            counted = evidence(model, child, work->sums + size * work->width);
    }
    return evidence(model, child, work->sums + size * work->width) - counted;
}

/* The score of a child with few levels. */
double counted_score(const Model *model, Space *space, Index child, const Index *parents, Index n_parents)
{
    double score = evidence_of_counts(model, space, child, parents, n_parents);
    for (Index at = 0; at < n_parents; at++)
        if (!model->n_levels[parents[at]]) {
            score += evidence_beyond_counts(model, space, child, parents, n_parents);
            break;
        }
    return score - prices(model, child, parents, n_parents);
}

/* --- search --- */

/* Add the best parent among the members, if it improves the score. */
static bool add_counted(const Model *model, Space *space, Family *family, Index n_members)
{
    const Index n = family->n_parents;
    double best = family->score + IMPROVEMENT;
    Index new = -1;
    for (Index member = 0; member < n_members; member++) {
        if (is_parent(family, space->members[member]))
            continue;
        family->parents[n] = space->members[member];
        double score = counted_score(model, space, family->child, family->parents, n + 1);
        if (score > best) {
            best = score;
            new = space->members[member];
        }
    }
    if (new < 0)
        return false;
    family->parents[n] = new;
    family->n_parents = n + 1;
    family->score = best;
    return true;
}

/* Remove the parent without which the score is best, if that improves it. */
static bool remove_counted(const Model *model, Space *space, Family *family)
{
    double best = family->score + IMPROVEMENT;
    Index out = -1;
    for (Index at = 0; at < family->n_parents; at++) {
        for (Index index = 0; index < family->n_parents - 1; index++)
            space->parents[index] = family->parents[index + (index >= at)];
        double score = counted_score(model, space, family->child, space->parents, family->n_parents - 1);
        if (score > best) {
            best = score;
            out = at;
        }
    }
    if (out < 0)
        return false;
    without_parent(family, out);
    family->score = best;
    return true;
}

/* Grow and shrink the family of a child that is counted. */
void improve_counted(const Model *model, Space *space, Family *family, Index n_members)
{
    double grown_to = -INFINITY;
    family->score = counted_score(model, space, family->child, family->parents, family->n_parents);
    while (family->score > grown_to) {
        while (may_grow(model, family) && add_counted(model, space, family, n_members))
            ;
        grown_to = family->score;
        while (remove_counted(model, space, family))
            ;
    }
}
