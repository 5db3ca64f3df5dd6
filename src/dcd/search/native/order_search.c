/* Search over orders of the variables for the graph with the highest sum of family scores; see order_search.py. */
#include "native.h"

#include <math.h>

static const double LEAST_MOVE = 1e-7; /* improvement of the score from which an order counts as better */

/* An order, the families of all variables in it, and their keys in the memo; see `State` in order_search.py. */
typedef struct {
    Index *order;
    Index *parents; /* (d, d + 2) */
    Index *n_parents;
    bool *curved; /* (d, d + 2) */
    Index *crossed;
    double *scores;
    uint64_t *keys;
} State;

/* The best families found so far; see `Memo` in order_search.py. */
typedef struct {
    const uint64_t *signs;
    uint64_t *keys;
    double *scores;
    int32_t *lines; /* (m, p + 2) */
    Index size, most_parents;
} Memo;

typedef struct {
    const Model *model;
    Space *space;
    State *state, *start, *best;
    Memo *memo;
} Search;

SIZE_OF(State);
SIZE_OF(Memo);

static Family family_of(const Search *search, Index child)
{
    const Index room = search->model->n_variables + 2;
    const State *state = search->state;
    return (Family){
        child, state->parents + child * room, state->curved + child * room, state->n_parents[child], state->crossed[child],
        state->scores[child]};
}

static void keep(Search *search, const Family *family)
{
    search->state->n_parents[family->child] = family->n_parents;
    search->state->crossed[family->child] = family->crossed;
    search->state->scores[family->child] = family->score;
}

/* --- the memo --- */

/* Copy a family from the memo; returns whether there is one. */
static bool recall(Search *search, Index child)
{
    const Memo *memo = search->memo;
    const uint64_t key = search->state->keys[child];
    const Index slot = (Index)(key % (uint64_t)memo->size);
    if (memo->keys[slot] != key)
        return false;
    const int32_t *line = memo->lines + slot * (memo->most_parents + 2);
    Family family = family_of(search, child);
    family.n_parents = line[0];
    family.crossed = line[1];
    family.score = memo->scores[slot];
    for (Index at = 0; at < family.n_parents; at++) {
        family.parents[at] = line[at + 2] / 2;
        family.curved[at] = line[at + 2] % 2;
    }
    keep(search, &family);
    return true;
}

static void remember(Search *search, const Family *family)
{
    Memo *memo = search->memo;
    const uint64_t key = search->state->keys[family->child];
    const Index slot = (Index)(key % (uint64_t)memo->size);
    if (family->n_parents > memo->most_parents)
        return;
    int32_t *line = memo->lines + slot * (memo->most_parents + 2);
    memo->keys[slot] = key;
    memo->scores[slot] = family->score;
    line[0] = (int32_t)family->n_parents;
    line[1] = (int32_t)family->crossed;
    for (Index at = 0; at < family->n_parents; at++)
        line[at + 2] = (int32_t)(2 * family->parents[at] + family->curved[at]);
}

/* --- families in an order --- */

static void mark_predecessors(Search *search, Index position)
{
    for (Index at = 0; at < search->model->n_variables; at++)
        search->space->before[search->state->order[at]] = at < position;
}

/* Improve a family, whose child is at a position of the order, from its current state. */
static void refresh(Search *search, Family *family, Index position)
{
    mark_predecessors(search, position);
    improve_family(search->model, search->space, family);
    keep(search, family);
}

/* Families of all variables in the order, from scratch. */
static void grow_all(Search *search)
{
    const Model *model = search->model;
    const Index d = model->n_variables, *order = search->state->order;
    for (Index position = 0; position < d; position++) {
        const Index child = order[position];
        uint64_t key = search->memo->signs[d + child];
        for (Index at = 0; at < position; at++)
            if (model->allowed[order[at] * d + child])
                key ^= search->memo->signs[order[at]];
        search->state->keys[child] = key;
        if (!recall(search, child)) {
            Family family = family_of(search, child);
            family.n_parents = family.crossed = 0;
            family.score = NAN;
            refresh(search, &family, position);
            remember(search, &family);
        }
    }
}

/* Remove a variable that now comes after the child, if it is a parent. */
static void lose_parent(Search *search, Index child, Index lost, Index position)
{
    Family family = family_of(search, child);
    if (!is_parent(&family, lost) || recall(search, child))
        return;
    Index at = 0;
    while (family.parents[at] != lost)
        at++;
    without_parent(&family, at);
    if (family.n_parents < 2)
        family.crossed = 0;
    family.score = NAN;
    refresh(search, &family, position);
    remember(search, &family);
}

/* Add a variable and another one that matter only through their product, if this improves the score. */
static void add_pair_with(Search *search, Family *family, Index one, Index position)
{
    const Model *model = search->model;
    bool paired = false;
    for (Index q = 0; q < model->n_pairs; q++) {
        const Index *pair = model->pairs + (family->child * model->n_pairs + q) * 2;
        paired |= pair[0] == one || pair[1] == one;
    }
    if (!paired)
        return;
    mark_predecessors(search, position);
    reserve(model, search->space, family->n_parents + 2, most(family->crossed, 1));
    add_pair(model, search->space, family, one, regression(model, search->space, family));
}

/* Add a variable that now comes before the child as a parent, if this improves its family.
 * No other variable improved it before, so others are tried only if this one does, alone or in a pair. */
static void gain_parent(Search *search, Index child, Index new, Index position)
{
    Family family = family_of(search, child);
    const double before = family.score;
    Change change = one_more(search->model, search->space, &family, new);
    if (change.score > before + IMPROVEMENT) {
        family.curved[family.n_parents++] = change.curve;
        family.crossed = change.crossed;
        family.score = change.score;
    } else if (search->model->may_cross[child]) {
        add_pair_with(search, &family, new, position);
    }
    if (family.score > before + IMPROVEMENT)
        refresh(search, &family, position);
    remember(search, &family);
}

/* Exchange two neighbours in the order and update their families; returns the change of the score. */
static double exchange(Search *search, Index at)
{
    const Model *model = search->model;
    State *state = search->state;
    const Index d = model->n_variables, earlier = state->order[at], later = state->order[at + 1];
    const double before = state->scores[earlier] + state->scores[later];
    state->order[at] = later;
    state->order[at + 1] = earlier;
    if (model->allowed[earlier * d + later]) {
        state->keys[later] ^= search->memo->signs[earlier];
        lose_parent(search, later, earlier, at);
    }
    if (model->allowed[later * d + earlier]) {
        state->keys[earlier] ^= search->memo->signs[later];
        if (!recall(search, earlier))
            gain_parent(search, earlier, later, at + 1);
    }
    return state->scores[earlier] + state->scores[later] - before;
}

/* --- moves --- */

static void copy_state(State *target, const State *source, Index d)
{
    for (Index v = 0; v < d; v++) {
        target->order[v] = source->order[v];
        target->n_parents[v] = source->n_parents[v];
        target->crossed[v] = source->crossed[v];
        target->scores[v] = source->scores[v];
        target->keys[v] = source->keys[v];
        for (Index at = v * (d + 2); at < v * (d + 2) + source->n_parents[v]; at++) {
            target->parents[at] = source->parents[at];
            target->curved[at] = source->curved[at];
        }
    }
}

/* Move a variable to its best position: to the front step by step, then from where it was to the end. */
static void move_variable(Search *search, Index variable)
{
    State *state = search->state;
    const Index d = search->model->n_variables;
    double total = 0.0, highest = 0.0;
    Index position = 0;
    while (state->order[position] != variable)
        position++;
    copy_state(search->start, state, d);
    copy_state(search->best, state, d);
    for (Index step = 0; step < d - 1; step++) {
        if (step == position) {
            copy_state(state, search->start, d);
            total = 0.0;
        }
        total += exchange(search, step < position ? position - 1 - step : step);
        if (total > highest + LEAST_MOVE) {
            highest = total;
            copy_state(search->best, state, d);
        }
    }
    copy_state(state, search->best, d);
}

static double total_of(const double *scores, Index d)
{
    double total = 0.0;
    for (Index v = 0; v < d; v++)
        total += scores[v];
    return total;
}

/* --- for Python --- */

typedef struct {
    State *states; /* the current one, and two as workspace */
    Memo *memo;
    const Index *sequence;
    Index n_sequence;
    double result;
} ClimbTask;

static Search search_of(const Model *model, Space *space, ClimbTask *task)
{
    return (Search){model, space, task->states, task->states + 1, task->states + 2, task->memo};
}

static void climb_task(const Model *model, Space *space, void *argument)
{
    ClimbTask *task = argument;
    Search search = search_of(model, space, task);
    const Index d = model->n_variables;
    double total = -INFINITY;
    grow_all(&search);
    while (total_of(search.state->scores, d) > total + LEAST_MOVE) {
        total = total_of(search.state->scores, d);
        for (Index at = 0; at < task->n_sequence; at++)
            move_variable(&search, task->sequence[at]);
    }
    task->result = total;
}

/* Grow the families of an order; move all variables, in this sequence, until nothing changes. */
EXPORT int climb(
    const Model *model, State *states, Memo *memo, const Index *sequence, Index n_sequence, double *total)
{
    ClimbTask task = {states, memo, sequence, n_sequence, 0.0};
    int failed = with_space(model, climb_task, &task);
    *total = task.result;
    return failed;
}

static void exchange_task(const Model *model, Space *space, void *argument)
{
    ClimbTask *task = argument;
    Search search = search_of(model, space, task);
    for (Index at = 0; at < task->n_sequence; at++)
        task->result += exchange(&search, task->sequence[at]);
}

/* Exchange neighbours at these positions, one after another; for tests. */
EXPORT int exchange_neighbours(
    const Model *model, State *states, Memo *memo, const Index *positions, Index n_positions, double *change)
{
    ClimbTask task = {states, memo, positions, n_positions, 0.0};
    int failed = with_space(model, exchange_task, &task);
    *change = task.result;
    return failed;
}
