/* The best family of a child among its predecessors: grow, shrink, and change the form of parents. */
#include "native.h"

#include <math.h>

static double evidence_at(const Model *model, Space *space, Index child, Index size)
{
    return evidence(model, child, space->regression.sums + size * space->regression.width);
}

bool is_parent(const Family *family, Index variable)
{
    for (Index at = 0; at < family->n_parents; at++)
        if (family->parents[at] == variable)
            return true;
    return false;
}

void without_parent(Family *family, Index at)
{
    family->n_parents--;
    for (; at < family->n_parents; at++) {
        family->parents[at] = family->parents[at + 1];
        family->curved[at] = family->curved[at + 1];
    }
}

/* --- one more parent --- */

/* The columns of some variables, as lines or also as curves, before any column is added. */
static void list_candidates(const Model *model, Space *space, Index child, const Index *members, Index n_members)
{
    Candidates *some = &space->candidates;
    some->count = 0;
    for (Index at = 0; at < n_members; at++)
        for (Index index = 0; index < n_columns(model, members[at], model->may_curve[child]); index++) {
            some->columns[some->count] = model->starts[members[at]] + index;
            some->scales[some->count++] = prior_sd(model, child, members[at], index);
        }
    for (Index c = 0; c < some->count; c++)
        some->squares[c] = 0.0;
    for (Index cell = 0; cell < n_responses(model, child) * some->count; cell++)
        some->products[cell] = 0.0;
}

/* Add candidates from a position on; the first `base` columns have rows among the candidates. */
static Index append_candidates(const Model *model, Space *space, Index at, Index stop, Index base, Index size)
{
    const Candidates *some = &space->candidates;
    Regression *work = &space->regression;
    for (Index c = at; c < stop; c++) {
        for (Index t = 0; t < base; t++)
            work->factor[size * work->capacity + t] = some->rows[t * some->count + c];
        size = append(model, work, some->columns[c], some->scales[c], size, base);
    }
    return size;
}

/* The best form of one more parent, which is already in the list behind the others, and its score.
 * The regression holds the others, in `base` columns; those of the new one are the candidates from `at` on. */
static Change with_parent(const Model *model, Space *space, const Family *family, Index base, Index at)
{
    const Index child = family->child, n = family->n_parents, new = family->parents[n];
    const Index n_line = model->n_line[new], width = n_columns(model, new, model->may_curve[child]);
    const Index with_products = model->may_cross[child] && n > 0 ? most(family->crossed, 1) : family->crossed;
    Change best = {-INFINITY, -1, false, family->crossed};
    for (Index products = family->crossed ? with_products : 0; products <= with_products; products++) {
        Index size = append_candidates(model, space, at, at + n_line, base, base);
        if (products) {
            Index first = family->crossed ? n : 1;
            size = append_products(model, family, first, n + 1, 0, products, &space->regression, size);
        }
        for (int curve = 0; curve <= (n_line < width); curve++) {
            if (curve)
                size = append_candidates(model, space, at + n_line, at + width, base, size);
            double score = evidence_at(model, space, child, size);
            if (score > best.score)
                best = (Change){score, -1, curve, products};
        }
    }
    best.score -= prices(model, child, family->parents, n + 1);
    return best;
}

/* The best score of a family with one more parent, and its form. */
Change one_more(const Model *model, Space *space, Family *family, Index parent)
{
    const Index n = family->n_parents;
    family->parents[n] = parent;
    if (model->n_levels[family->child]) {
        double score = counted_score(model, space, family->child, family->parents, n + 1);
        return (Change){score, -1, false, family->crossed};
    }
    reserve(model, space, n + 1, most(family->crossed, 1));
    list_candidates(model, space, family->child, &parent, 1);
    Index base = regression(model, space, family);
    extend(model, space, 0, base);
    return with_parent(model, space, family, base, 0);
}

/* Add the best parent among the members until none improves the score; returns the number of columns. */
static Index add_parents(const Model *model, Space *space, Family *family, Index n_members, Index size)
{
    const Index child = family->child, *members = space->members;
    const bool simple = !(model->may_curve[child] || model->may_cross[child] || family->crossed);
    Index done = 0;
    list_candidates(model, space, child, members, n_members);
    while (may_grow(model, family)) {
        const Index n = family->n_parents;
        Change best = {family->score + IMPROVEMENT, -1, false, family->crossed};
        reserve(model, space, n + 1, most(family->crossed, 1));
        extend(model, space, done, size);
        done = size;
        for (Index member = 0, at = 0; member < n_members; member++) {
            const Index v = members[member], width = n_columns(model, v, model->may_curve[child]);
            if (!is_parent(family, v)) {
                Change change = {0.0, v, false, family->crossed};
                family->parents[n] = v;
                if (simple && width == 1) {
                    sums_with(model, space, at, size, space->sums);
                    change.score = evidence(model, child, space->sums) - prices(model, child, family->parents, n + 1);
                } else {
                    change = with_parent(model, space, family, size, at);
                    change.where = v;
                }
                if (change.score > best.score)
                    best = change;
            }
            at += width;
        }
        if (best.where < 0)
            break;
        const Index first = family->crossed ? n : 1, stop = n_columns(model, best.where, best.curve);
        family->parents[n] = best.where;
        family->curved[n] = best.curve;
        size = append_parent(model, child, best.where, 0, stop, &space->regression, size);
        if (best.crossed)
            size = append_products(model, family, first, n + 1, 0, best.crossed, &space->regression, size);
        family->n_parents++;
        family->crossed = best.crossed;
        family->score = best.score;
    }
    return size;
}

/* --- fewer parents, other forms --- */

/* The evidence without a variable, or without its curve, and without products beyond `crossed`. */
double evidence_without(
    const Model *model, Space *space, Index child, Index variable, bool line_stays, Index crossed, Index size)
{
    Inverse *inverse = &space->inverse;
    Index n_dropped = 0;
    for (Index at = 0; at < size; at++) {
        const Index *member = model->members + 4 * space->regression.columns[at], form = member[0];
        bool out = member[1] == variable || member[2] == variable || member[3] == variable;
        if ((out && !(line_stays && form != 1)) || form > crossed + 1)
            inverse->dropped[n_dropped++] = at;
    }
    sums_without(space, size, n_dropped);
    return evidence(model, child, inverse->sums);
}

/* The best score without one parent, which one, and the products. */
static Change best_removal(const Model *model, Space *space, const Family *family, Index size)
{
    const Index n = family->n_parents;
    Index *fewer = space->parents;
    Change best = {-INFINITY, 0, false, 0};
    for (Index at = 0; at < n; at++) {
        for (Index index = 0; index < n - 1; index++)
            fewer[index] = family->parents[index + (index >= at)];
        const double price = prices(model, family->child, fewer, n - 1);
        for (Index products = 0; products <= (n > 2 ? family->crossed : 0); products++) {
            double score =
                evidence_without(model, space, family->child, family->parents[at], false, products, size) - price;
            if (score > best.score)
                best = (Change){score, at, false, products};
        }
    }
    return best;
}

/* The best evidence of the same parents in another form: the parent whose curve changes, or -1, and the products. */
static Change best_form(const Model *model, Space *space, const Family *family, Index size)
{
    const Index child = family->child, n = family->n_parents, crossed = family->crossed;
    Regression *work = &space->regression;
    Change best = {-INFINITY, -1, false, crossed};
    for (Index at = 0; model->may_curve[child] && at < n; at++) {
        const Index parent = family->parents[at], n_line = model->n_line[parent], width = n_columns(model, parent, true);
        double score;
        if (n_line == width)
            continue;
        if (family->curved[at])
            score = evidence_without(model, space, child, parent, true, crossed, size);
        else
            score = evidence_at(model, space, child, append_parent(model, child, parent, n_line, width, work, size));
        if (score > best.score)
            best = (Change){score, at, false, crossed};
    }
    for (Index products = 0; n > 1 && products <= model->may_cross[child]; products++) {
        double score;
        if (products == crossed)
            continue;
        if (products < crossed)
            score = evidence_without(model, space, child, -2, false, products, size);
        else
            score = evidence_at(
                model, space, child, append_products(model, family, 1, n, crossed, products, work, size));
        if (score > best.score)
            best = (Change){score, -1, false, products};
    }
    return best;
}

/* Remove parents, and change lines, curves and products, while this improves the score. */
static Index simplify(const Model *model, Space *space, Family *family, Index size)
{
    while (family->n_parents > 0) {
        reserve(model, space, family->n_parents + 1, model->may_cross[family->child]);
        invert(space, size);
        Change fewer = best_removal(model, space, family, size), other = best_form(model, space, family, size);
        const double before = family->score;
        other.score -= prices(model, family->child, family->parents, family->n_parents);
        if (fmax(fewer.score, other.score) <= before + IMPROVEMENT)
            break;
        if (fewer.score >= other.score) {
            without_parent(family, fewer.where);
            family->crossed = fewer.crossed;
        } else if (other.where >= 0) {
            family->curved[other.where] = !family->curved[other.where];
        } else {
            family->crossed = other.crossed;
        }
        size = regression(model, space, family);
        family->score = evidence_at(model, space, family->child, size)
            - prices(model, family->child, family->parents, family->n_parents);
        if (family->score <= before) /* the improvement was rounding */
            break;
    }
    return size;
}

/* --- pairs --- */

static bool is_free(const Model *model, const Space *space, const Family *family, Index variable)
{
    return space->before[variable] && model->allowed[variable * model->n_variables + family->child]
        && !is_parent(family, variable);
}

/* Add the best two parents that matter only through their product, if there are any; returns the number of columns.
 * If `one` is not -1, it is one of the two. */
Index add_pair(const Model *model, Space *space, Family *family, Index one, Index size)
{
    const Index child = family->child, n = family->n_parents, products = most(family->crossed, 1);
    Regression *work = &space->regression;
    double best = family->score + IMPROVEMENT;
    Index first = -1, second = -1, base = -1;
    for (Index q = 0; q < model->n_pairs; q++) {
        const Index *pair = model->pairs + (child * model->n_pairs + q) * 2, a = pair[0], b = pair[1];
        if (a < 0)
            break;
        if ((one >= 0 && one != a && one != b) || !is_free(model, space, family, a) || !is_free(model, space, family, b))
            continue;
        if (base < 0) {
            reserve(model, space, n + 2, products);
            base = family->crossed ? size : append_products(model, family, 1, n, 0, products, work, size);
        }
        family->parents[n] = a;
        family->parents[n + 1] = b;
        family->curved[n] = family->curved[n + 1] = false;
        Index end = append_parent(model, child, a, 0, model->n_line[a], work, base);
        end = append_parent(model, child, b, 0, model->n_line[b], work, end);
        end = append_products(model, family, n, n + 2, 0, products, work, end);
        double score = evidence_at(model, space, child, end) - prices(model, child, family->parents, n + 2);
        if (score > best) {
            best = score;
            first = a;
            second = b;
        }
    }
    if (first < 0)
        return size;
    family->parents[n] = first;
    family->parents[n + 1] = second;
    family->n_parents = n + 2;
    family->crossed = products;
    family->score = best;
    return regression(model, space, family);
}

/* --- the whole search --- */

/* Grow and shrink a family among the variables `space->before` its child; a score of NaN is unknown. */
void improve_family(const Model *model, Space *space, Family *family)
{
    const Index child = family->child, d = model->n_variables;
    Index n_members = 0;
    for (Index v = 0; v < d; v++)
        if (space->before[v] && model->allowed[v * d + child])
            space->members[n_members++] = v;
    if (model->n_levels[child]) {
        improve_counted(model, space, family, n_members);
        return;
    }
    reserve(model, space, family->n_parents + 2, most(family->crossed, 1));
    Index size = regression(model, space, family);
    if (isnan(family->score))
        family->score =
            evidence_at(model, space, child, size) - prices(model, child, family->parents, family->n_parents);
    while (true) {
        size = add_parents(model, space, family, n_members, size);
        const double grown_to = family->score;
        size = simplify(model, space, family, size);
        if (family->score <= grown_to && model->may_cross[child])
            size = add_pair(model, space, family, -1, size);
        if (family->score <= grown_to)
            return;
    }
}

/* --- for Python; the last two for tests --- */

typedef struct {
    Family *family;
    const bool *before;
} ImproveTask;

static void improve_task(const Model *model, Space *space, void *argument)
{
    ImproveTask *task = argument;
    for (Index v = 0; v < model->n_variables; v++)
        space->before[v] = task->before[v];
    improve_family(model, space, task->family);
}

EXPORT int best_family(const Model *model, Family *family, const bool *before)
{
    ImproveTask task = {family, before};
    return with_space(model, improve_task, &task);
}

typedef struct {
    Family *family;
    Index parent;
    Change *changes;
} ChangeTask;

static void one_more_task(const Model *model, Space *space, void *argument)
{
    ChangeTask *task = argument;
    *task->changes = one_more(model, space, task->family, task->parent);
}

EXPORT int with_one_more(const Model *model, Family *family, Index parent, Change *change)
{
    ChangeTask task = {family, parent, change};
    return with_space(model, one_more_task, &task);
}

static void simpler_task(const Model *model, Space *space, void *argument)
{
    ChangeTask *task = argument;
    reserve(model, space, task->family->n_parents + 1, 2);
    Index size = regression(model, space, task->family);
    invert(space, size);
    task->changes[0] = best_removal(model, space, task->family, size);
    task->changes[1] = best_form(model, space, task->family, size);
}

/* The best removal of a parent, and the best other form. */
EXPORT int simpler_forms(const Model *model, Family *family, Change *changes)
{
    ChangeTask task = {family, -1, changes};
    return with_space(model, simpler_task, &task);
}
