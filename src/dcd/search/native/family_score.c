/* The score of a family: the log evidence of a variable given its parents; see family_score.py. */
#include "native.h"

#include <math.h>

static const double LACKING = 1e7;  /* price of a required parent that a family lacks */
static const double UNWANTED_PAIR = 1e5;
static const Index MOST_CONFIGURATIONS = 1000000; /* of the parents of a category */
static const double DECAY = 0.83666002653407556; /* sqrt(0.7), of the prior sd from one column of a curve to the next */

/* Half the log determinant of the remaining share of the variance of several responses.
 * Its factor is written into the unused upper half of W'W and the space after it. */
static double log_left(double *sums, Index n_line, Index r, double n_samples)
{
    double log_determinant = 0.0, *upper = sums + 1, *diagonal = sums + 1 + r * r;
    for (Index a = 0; a < n_line; a++) {
        for (Index b = 0; b <= a; b++) {
            double value = (a == b) - sums[1 + a * r + b] / n_samples;
            for (Index t = 0; t < b; t++)
                value -= upper[t * r + a] * upper[t * r + b];
            if (b < a)
                upper[b * r + a] = value / diagonal[b];
            else
                diagonal[a] = sqrt(fmax(value, 1e-12));
        }
        log_determinant += log(diagonal[a]);
    }
    return log_determinant;
}

/* The log evidence of a regression with such sums; see `Regression`. */
double evidence(const Model *model, Index child, double *sums)
{
    const double n = model->n_samples;
    const Index n_line = model->n_line[child], r = n_responses(model, child);
    double best;
    if (n_line == 1)
        best = -0.5 * n * log(fmax(1.0 - sums[1] / n, 1e-12)) - sums[0];
    else
        best = -n * log_left(sums, n_line, r, n) - (double)n_line * sums[0];
    if (model->raw[child] >= 0) {
        double left = fmax(1.0 - sums[r * r] / n, 1e-12);
        best = fmax(best, -0.5 * n * log(left) - sums[0] + model->raw_offset[child]);
    }
    return best;
}

/* The prior standard deviation of a column of a parent. */
double prior_sd(const Model *model, Index child, Index parent, Index index)
{
    Index beyond = index - model->n_line[parent];
    return beyond < 0 ? model->sd_line[child] : model->sd_curve[child] * pow(DECAY, (double)beyond);
}

/* Add some columns of a parent, the first of which are its line. */
Index append_parent(const Model *model, Index child, Index parent, Index start, Index stop, Regression *work, Index size)
{
    for (Index index = start; index < stop; index++)
        size = append(model, work, model->starts[parent] + index, prior_sd(model, child, parent, index), size, 0);
    return size;
}

/* Add the promising products of the parents from the `first` on with all before them.
 * Only forms `above` the one already included, up to `crossed`. */
Index append_products(
    const Model *model, const Family *family, Index first, Index n_parents, Index above, Index crossed, Regression *work,
    Index size)
{
    const Index d = model->n_variables, offset = model->starts[d], child = family->child, *parents = family->parents;
    const double sd = model->sd_curve[child], sd_cubic = sd * DECAY * DECAY;
    for (Index a = first; a < n_parents; a++) {
        for (Index b = 0; b < a; b++) {
            const Index i = parents[a], j = parents[b];
            Index column = model->product[i * d + j];
            if (above < 1 && column >= 0 && model->promising[(column - offset) * d + child])
                size = append(model, work, column, sd, size, 0);
            for (Index c = -2; c < (crossed == 2 ? b : -2); c++) {
                const Index k = c == -2 ? i : (c == -1 ? j : parents[c]);
                column = model->cubic[(i * d + j) * d + k];
                if (column >= 0 && model->promising[(column - offset) * d + child])
                    size = append(model, work, column, sd_cubic, size, 0);
            }
        }
    }
    return size;
}

/* Make space for a family with this many parents and these products. */
void reserve(const Model *model, Space *space, Index n_parents, Index crossed)
{
    Index widest = 1, n = n_parents;
    for (Index v = 0; v < model->n_variables; v++)
        widest = most(widest, model->starts[v + 1] - model->starts[v]);
    Index needed = n * widest + 1;
    if (crossed >= 1)
        needed += n * (n - 1) / 2;
    if (crossed == 2)
        needed += n * (n - 1) * (n + 4) / 6;
    reserve_columns(space, least(needed, model->n_columns));
}

/* The regression of a child on nothing. */
Regression *empty_regression(const Model *model, Space *space, Index child)
{
    Regression *work = &space->regression;
    const Index n_line = model->n_line[child];
    work->n_responses = n_responses(model, child);
    for (Index r = 0; r < work->n_responses; r++)
        work->responses[r] = r < n_line ? model->starts[child] + r : model->raw[child];
    for (Index q = 0; q < 1 + work->n_responses * work->n_responses; q++)
        work->sums[q] = 0.0;
    return work;
}

/* Add all columns of a family to an empty regression; returns their number. */
Index regression(const Model *model, Space *space, const Family *family)
{
    Regression *work = empty_regression(model, space, family->child);
    Index size = 0;
    for (Index at = 0; at < family->n_parents; at++) {
        Index parent = family->parents[at], stop = n_columns(model, parent, family->curved[at]);
        size = append_parent(model, family->child, parent, 0, stop, work, size);
    }
    if (family->crossed)
        size = append_products(model, family, 1, family->n_parents, 0, family->crossed, work, size);
    return size;
}

/* The prior of a family, as the amount subtracted from its evidence. */
double prices(const Model *model, Index child, const Index *parents, Index n_parents)
{
    const Index d = model->n_variables;
    double price = (double)n_parents * model->edge_price + (double)most(n_parents - 1, 0) * model->collider_price;
    /* Dirichlet priors cost more than those of coefficients; half the price was best on discrete networks. */
    for (Index at = 0; model->n_levels[child] && at < n_parents; at++)
        if (model->n_levels[parents[at]])
            price -= 0.5 * model->edge_price;
    for (Index u = 0; u < model->n_unwanted; u++) {
        const Index *pair = model->unwanted + (child * model->n_unwanted + u) * 2;
        if (pair[0] < 0)
            break;
        Index together = 0;
        for (Index at = 0; at < n_parents; at++)
            together += parents[at] == pair[0] || parents[at] == pair[1];
        if (together == 2)
            price += UNWANTED_PAIR;
    }
    if (model->any_required) {
        for (Index v = 0; v < d; v++)
            price += model->required[v * d + child] ? LACKING : 0.0;
        for (Index at = 0; at < n_parents; at++)
            price -= model->required[parents[at] * d + child] ? LACKING : 0.0;
    }
    return price;
}

/* --- categories --- */

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
        for (Index row = 0; row < n_rows; row++)
            configuration[row] = configuration[row] * levels + codes[row];
        if (n_present > n_rows)
            n_present = renumber(configuration, n_rows, space->numbers, n_present);
    }
    double *counts = space->counts, *together = counts + n_present * n_levels;
    const Index *codes = model->codes + child * n_rows;
    for (Index at = 0; at < (n_present + 1) * n_levels; at++)
        counts[at] = 0.0;
    for (Index row = 0; row < n_rows; row++)
        counts[configuration[row] * n_levels + codes[row]] += model->weights[row];
    for (Index at = 0; at < n_present; at++)
        for (Index level = 0; level < n_levels; level++)
            together[level] += counts[at * n_levels + level];
    return log_evidence_of_counts(counts, n_present, n_levels, 1.0 / (double)n_possible)
        - log_evidence_of_counts(together, 1, n_levels, 1.0);
}

/* The evidence of the parents with few levels of a child with few levels: known if it was met before. */
static double evidence_of_counts(const Model *model, Space *space, Index child, const Index *parents, Index n_parents)
{
    uint64_t key = model->signs[model->n_variables + child];
    for (Index at = 0; at < n_parents; at++)
        if (model->n_levels[parents[at]])
            key ^= model->signs[parents[at]];
    Index slot = (Index)(key % (uint64_t)model->n_keys);
    if (model->keys[slot] != key || isnan(model->known[slot])) {
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

/* The score of a family in a given form. */
double score_of(const Model *model, Space *space, const Family *family)
{
    double price = prices(model, family->child, family->parents, family->n_parents);
    if (family->n_parents == 0)
        return -price;
    if (model->n_levels[family->child])
        return counted_score(model, space, family->child, family->parents, family->n_parents);
    reserve(model, space, family->n_parents, family->crossed);
    Index size = regression(model, space, family);
    return evidence(model, family->child, space->regression.sums + size * space->regression.width) - price;
}

static void score_task(const Model *model, Space *space, void *family)
{
    ((Family *)family)->score = score_of(model, space, family);
}

EXPORT int family_score(const Model *model, Family *family)
{
    return with_space(model, score_task, family);
}
