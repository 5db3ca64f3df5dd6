/* The score of a family: the log evidence of a variable given its parents; see family_score.py. */
#include "native.h"

#include <math.h>

static const double UNWANTED_PAIR = 1e5;
static const double DECAY = 0.83666002653407556; /* sqrt(0.7), ratio of prior sds of successive columns of a curve */

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

/* The log evidence of a regression with these sums; see `Regression`. */
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
    const Index n = n_parents;
    Index needed = n * space->widest_variable + 1;
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

SIZE_OF(Model);
SIZE_OF(Family);

static void score_task(const Model *model, Space *space, void *family)
{
    ((Family *)family)->score = score_of(model, space, family);
}

EXPORT int family_score(const Model *model, Family *family)
{
    return with_space(model, score_task, family);
}
