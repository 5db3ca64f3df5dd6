/* Memory for the search of families: one workspace per call from Python. */
#include "native.h"

#include <stdlib.h>
#include <string.h>

/* The same array with more space; if memory runs out, the call from Python fails. */
void *grown(Space *space, void *old, Index count, size_t size)
{
    count = most(count, 1);
    void *memory = (uint64_t)count > SIZE_MAX / size ? NULL : realloc(old, (size_t)count * size);
    if (!memory)
        longjmp(space->failure, 1);
    return memory;
}

/* The same array, or a larger one if it is too small; `present` is its size. */
void *at_least(Space *space, void *old, Index *present, Index count, size_t size)
{
    if (count <= *present)
        return old;
    void *memory = grown(space, old, count + count / 2, size);
    *present = count + count / 2;
    return memory;
}

/* Allocate the buffers that depend on the model alone; columns are reserved when they are needed. */
static void open_space(Space *space, const Model *model)
{
    Index widest = 1, d = model->n_variables, c = model->starts[d];
    for (Index v = 0; v < d; v++) {
        widest = most(widest, n_responses(model, v));
        space->widest_variable = most(space->widest_variable, model->starts[v + 1] - model->starts[v]);
    }
    space->most_responses = widest;
    space->regression.width = 1 + widest * (widest + 1);
    space->regression.responses = grown(space, NULL, widest, sizeof(Index));
    space->sums = grown(space, NULL, space->regression.width, sizeof(double));
    space->inverse.sums = grown(space, NULL, space->regression.width, sizeof(double));
    space->candidates.squares = grown(space, NULL, c, sizeof(double));
    space->candidates.products = grown(space, NULL, widest * c, sizeof(double));
    space->candidates.scales = grown(space, NULL, c, sizeof(double));
    space->candidates.columns = grown(space, NULL, c, sizeof(Index));
    space->parents = grown(space, NULL, d + 2, sizeof(Index));
    space->members = grown(space, NULL, d, sizeof(Index));
    space->before = grown(space, NULL, d, sizeof(bool));
    space->ordered = grown(space, NULL, d + 2, sizeof(Index));
    space->configuration = grown(space, NULL, model->n_rows, sizeof(Index));
}

static void close_space(Space *space)
{
    void *buffers[] = {
        space->regression.factor, space->regression.upper, space->regression.solved, space->regression.sums, space->regression.scales,
        space->regression.columns, space->regression.responses, space->candidates.rows, space->candidates.squares,
        space->candidates.products, space->candidates.scales, space->candidates.columns, space->inverse.rows,
        space->inverse.coefficients, space->inverse.block, space->inverse.solved, space->inverse.sums,
        space->inverse.dropped, space->sums, space->parents, space->members, space->before, space->configuration,
        space->numbers, space->counts, space->ordered,
    };
    for (size_t at = 0; at < sizeof buffers / sizeof *buffers; at++)
        free(buffers[at]);
    free(space);
}

/* Carry out a task with a workspace of its own. */
int with_space(const Model *model, void (*task)(const Model *, Space *, void *), void *argument)
{
    Space *space = calloc(1, sizeof *space);
    if (!space)
        return NO_MEMORY;
    if (setjmp(space->failure)) {
        close_space(space);
        return NO_MEMORY;
    }
    open_space(space, model);
    task(model, space, argument);
    close_space(space);
    return 0;
}

/* Increase the distance between the rows of a matrix, in place. */
static void spread(double *matrix, Index n_rows, Index from, Index to)
{
    for (Index row = n_rows - 1; row > 0; row--)
        memmove(matrix + row * to, matrix + row * from, (size_t)from * sizeof(double));
}

/* Make space for a regression on this many columns; the columns that it has stay. */
void reserve_columns(Space *space, Index n_columns)
{
    Regression *work = &space->regression;
    Inverse *inverse = &space->inverse;
    Index old = work->capacity, widest = space->most_responses;
    if (n_columns <= old)
        return;
    Index m = most(n_columns, old + old / 2) | 1; /* rows of odd length spread over all sets of a cache */
    work->factor = grown(space, work->factor, m * m, sizeof(double));
    work->upper = grown(space, work->upper, m * m, sizeof(double));
    work->solved = grown(space, work->solved, widest * m, sizeof(double));
    work->sums = grown(space, work->sums, (m + 1) * work->width, sizeof(double));
    work->scales = grown(space, work->scales, m, sizeof(double));
    work->columns = grown(space, work->columns, m, sizeof(Index));
    inverse->rows = grown(space, inverse->rows, m * m, sizeof(double));
    inverse->coefficients = grown(space, inverse->coefficients, widest * m, sizeof(double));
    inverse->block = grown(space, inverse->block, m * m, sizeof(double));
    inverse->solved = grown(space, inverse->solved, widest * m, sizeof(double));
    inverse->dropped = grown(space, inverse->dropped, m, sizeof(Index));
    spread(work->factor, old, old, m);
    spread(work->upper, old, old, m);
    spread(work->solved, widest, old, m);
    work->capacity = m;
}
