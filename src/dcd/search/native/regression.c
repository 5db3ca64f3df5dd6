/* Regression of a child on columns of a Gram matrix, adding one column or removing a few at a time.
 *
 * With A = I + S G S = L L' for the included columns, S their prior standard deviations, and W = L^-1 S G_y, the
 * evidence needs only log|L| and W'W. Another column adds a row to L and to W. Columns R are removed without a
 * new factor: with beta = A^-1 S G_y and K = (A^-1)_RR,
 *
 *     log|L| += log|K| / 2 ,    W'W -= beta_R' K^-1 beta_R .
 */
#include "native.h"

#include <math.h>

/* The product of two vectors. Four sums at a time, because each addition to a sum waits for the one before. */
static inline double dot(const double *restrict one, const double *restrict two, Index n)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0}, rest = 0.0;
    Index t = 0;
    for (; t + 3 < n; t += 4)
        for (Index lane = 0; lane < 4; lane++)
            sums[lane] += one[t + lane] * two[t + lane];
    for (; t < n; t++)
        rest += one[t] * two[t];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest;
}

/* Solve L x = v in place, from the position at which v begins, by columns of L; two columns at a time save half of
 * the reading and writing. */
static void solve(const Regression *work, double *restrict vector, Index start, Index size)
{
    const Index m = work->capacity;
    Index j = start;
    for (; j + 1 < size; j += 2) {
        const double *restrict one = work->upper + j * m, *restrict two = one + m;
        const double first = vector[j] * one[j], second = (vector[j + 1] - first * one[j + 1]) * two[j + 1];
        vector[j] = first;
        vector[j + 1] = second;
        for (Index t = j + 2; t < size; t++)
            vector[t] -= first * one[t] + second * two[t];
    }
    if (j < size)
        vector[j] *= work->upper[j * m + j];
}

/* Add a column to the regression; the first `known` entries of its row are already in place. */
Index append(const Model *model, Regression *work, Index column, double sd, Index size, Index known)
{
    const double *gram = model->gram + column * model->n_columns;
    const Index m = work->capacity;
    double *row = work->factor + size * m;
    work->scales[size] = sd;
    work->columns[size] = column;
    for (Index j = known; j < size; j++)
        row[j] = sd * work->scales[j] * gram[work->columns[j]];
    if (known)
        for (Index j = known; j < size; j++)
            row[j] = (row[j] - dot(row, work->factor + j * m, j)) * work->upper[j * m + j];
    else
        solve(work, row, 0, size);
    row[size] = sqrt(1.0 + sd * sd * gram[column] - dot(row, row, size));
    for (Index j = 0; j < size; j++)
        work->upper[j * m + size] = row[j];
    const double reciprocal = work->upper[size * m + size] = 1.0 / row[size];
    const double *before = work->sums + size * work->width;
    double *after = work->sums + (size + 1) * work->width;
    after[0] = before[0] + log(row[size]);
    for (Index r = 0; r < work->n_responses; r++) {
        double *solved = work->solved + r * m;
        solved[size] = (sd * gram[work->responses[r]] - dot(row, solved, size)) * reciprocal;
        for (Index q = 0; q <= r; q++) {
            Index at = 1 + r * work->n_responses + q;
            after[at] = before[at] + solved[size] * work->solved[q * m + size];
        }
    }
    return size + 1;
}

/* Update candidates from `done` included columns to `size`. */
static void extend_rows(const Model *model, const Regression *work, Candidates *some, Index done, Index size)
{
    const Index count = some->count;
    for (Index t = done; t < size; t++) {
        const double *gram = model->gram + work->columns[t] * model->n_columns, *own = work->factor + t * work->capacity;
        const double scale = work->scales[t], reciprocal = work->upper[t * work->capacity + t];
        double *row = some->rows + t * count;
        for (Index c = 0; c < count; c++)
            row[c] = scale * some->scales[c] * gram[some->columns[c]];
        Index k = 0;
        for (; k + 1 < t; k += 2) { /* two at a time, which saves half of the reading and writing */
            const double *first = some->rows + k * count, *second = first + count, one = own[k], two = own[k + 1];
            for (Index c = 0; c < count; c++)
                row[c] -= one * first[c] + two * second[c];
        }
        if (k < t) {
            const double *first = some->rows + k * count, one = own[k];
            for (Index c = 0; c < count; c++)
                row[c] -= one * first[c];
        }
        for (Index c = 0; c < count; c++) {
            row[c] *= reciprocal;
            some->squares[c] += row[c] * row[c];
        }
        for (Index r = 0; r < work->n_responses; r++) {
            double *products = some->products + r * count, value = work->solved[r * work->capacity + t];
            for (Index c = 0; c < count; c++)
                products[c] += row[c] * value;
        }
    }
}

void extend(const Model *model, Space *space, Index done, Index size)
{
    Candidates *some = &space->candidates;
    if (size * some->count > space->n_candidate_cells) {
        space->n_candidate_cells = (size + size / 2 + 8) * some->count;
        some->rows = grown(space, some->rows, space->n_candidate_cells, sizeof(double));
    }
    extend_rows(model, &space->regression, some, done, size);
}

/* Write the sums with one more column, the candidate at a position. */
void sums_with(const Model *model, const Space *space, Index at, Index size, double *sums)
{
    const Regression *work = &space->regression;
    const Candidates *some = &space->candidates;
    const double *gram = model->gram + some->columns[at] * model->n_columns, *before = work->sums + size * work->width;
    const double sd = some->scales[at], total = 1.0 + sd * sd * gram[some->columns[at]] - some->squares[at];
    sums[0] = before[0] + 0.5 * log(total);
    for (Index r = 0; r < work->n_responses; r++) {
        double of_r = sd * gram[work->responses[r]] - some->products[r * some->count + at];
        for (Index q = 0; q <= r; q++) {
            double of_q = sd * gram[work->responses[q]] - some->products[q * some->count + at];
            Index cell = 1 + r * work->n_responses + q;
            sums[cell] = before[cell] + of_r * of_q / total;
        }
    }
}

/* Write the inverse of the factor of the regression. */
void invert(Space *space, Index size)
{
    const Regression *work = &space->regression;
    Inverse *inverse = &space->inverse;
    const Index m = work->capacity;
    for (Index i = 0; i < size; i++) {
        double *row = inverse->rows + i * m;
        for (Index t = i; t < size; t++)
            row[t] = t == i;
        solve(work, row, i, size);
    }
    for (Index i = 0; i < size; i++) {
        const double *row = inverse->rows + i * m;
        for (Index r = 0; r < work->n_responses; r++) {
            inverse->coefficients[r * m + i] = dot(row + i, work->solved + r * m + i, size - i);
        }
    }
}

/* Write the sums without some columns, `inverse.dropped`, by ascending position. */
void sums_without(Space *space, Index size, Index n_dropped)
{
    const Regression *work = &space->regression;
    Inverse *inverse = &space->inverse;
    const Index m = work->capacity, r_all = work->n_responses;
    double *sums = inverse->sums, *block = inverse->block, *solved = inverse->solved;
    for (Index q = 0; q < 1 + r_all * r_all; q++)
        sums[q] = work->sums[size * work->width + q];
    for (Index a = 0; a < n_dropped; a++) {
        const Index i = inverse->dropped[a];
        const double *row = inverse->rows + i * m;
        double *own = block + a * m;
        for (Index b = 0; b <= a; b++) {
            const double *other = inverse->rows + inverse->dropped[b] * m, *earlier = block + b * m;
            const double value = dot(row + i, other + i, size - i) - dot(own, earlier, b);
            own[b] = b < a ? value / earlier[b] : sqrt(value);
        }
        sums[0] += log(own[a]);
        for (Index r = 0; r < r_all; r++) {
            double value = inverse->coefficients[r * m + i];
            for (Index t = 0; t < a; t++)
                value -= own[t] * solved[r * m + t];
            solved[r * m + a] = value / own[a];
            for (Index q = 0; q <= r; q++)
                sums[1 + r * r_all + q] -= solved[r * m + a] * solved[q * m + a];
        }
    }
}
