/* The compiled part of the search: types and functions that its files share.
 *
 * Python calls functions that are marked EXPORT through ctypes (`__init__.py`). Structures that it passes are
 * declared in the same order in the Python module that fills them; SIZE_OF lets it check that the sizes agree.
 * Matrices are stored row by row. Functions that can run out of memory return NO_MEMORY, and 0 otherwise.
 */
#ifndef DCD_NATIVE_H
#define DCD_NATIVE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

#define SIZE_OF(structure) EXPORT const Index size_of_##structure = sizeof(structure)

typedef int64_t Index;

enum { NO_MEMORY = 1 };
static const double IMPROVEMENT = 1e-7; /* smallest difference of scores that counts */
static const double LACKING = 1e7;      /* price of a required parent that a family lacks */

/* The model that scores families; see `ScoreModel` in family_score.py, whose fields come first and in order. */
typedef struct {
    const double *gram;
    double n_samples;
    const Index *starts, *n_line, *raw;
    const double *raw_offset;
    const Index *product, *cubic, *members;
    const double *sd_line, *sd_curve;
    const bool *may_curve;
    const Index *may_cross;
    const bool *allowed, *required;
    bool any_required;
    const Index *pairs;
    const bool *promising;
    const Index *unwanted;
    double edge_price, collider_price;
    const Index *codes, *n_levels;
    const double *weights;
    const uint64_t *signs;
    uint64_t *keys;
    double *known;
    /* sizes of these */
    Index n_variables, n_columns, n_pairs, n_unwanted, n_rows, n_keys;
} Model;

/* The parents of a child, with space for two more; see family_score.py. */
typedef struct {
    Index child;
    Index *parents;
    bool *curved;
    Index n_parents, crossed;
    double score;
} Family;

/* The regression of a child on some columns, with space for `capacity` of them; see regression.c. */
typedef struct {
    double *factor; /* (m, m) L, of which the lower half is used */
    double *upper;  /* (m, m) its transpose, with reciprocals on the diagonal */
    double *solved; /* (r, m) the transpose of W */
    double *sums;   /* (m + 1, width) after each number of columns: log|L|, then the lower half of W'W, and space */
    double *scales; /* (m,) prior standard deviations */
    Index *columns; /* (m,) positions in the Gram matrix */
    Index *responses;
    Index n_responses, width, capacity;
} Regression;

/* Columns that may be added, with their rows of L and their separate contributions. */
typedef struct {
    double *rows;     /* (., c) the entries of L for each, in the order of the columns included so far */
    double *squares;  /* (c,) sums of squares of these */
    double *products; /* (r, c) their products with W */
    double *scales;
    Index *columns;
    Index count;
} Candidates;

/* The quantities needed to remove columns from a regression. */
typedef struct {
    double *rows;         /* (m, m) the transpose of the inverse of L */
    double *coefficients; /* (r, m) beta */
    double *block;        /* (m, m) the factor of K */
    double *solved;       /* (r, m) beta solved by it */
    double *sums;         /* (width,) */
    Index *dropped;       /* (m,) the removed columns */
} Inverse;

/* Memory that the search for families writes to. Buffers grow as needed, and are freed at the end of a call. */
typedef struct {
    Regression regression;
    Candidates candidates;
    Inverse inverse;
    double *sums;         /* (width,) those of one candidate */
    Index *parents;       /* (d + 2,) of a family with one parent less */
    Index *members;       /* (d,) variables that may become parents */
    bool *before;         /* (d,) whether each variable comes before the child in an order */
    Index *configuration; /* (rows,) of the parents of a category */
    Index *numbers;       /* of configurations that occur */
    double *counts;       /* of rows, by configuration and level */
    Index *ordered;       /* (d + 2,) parents in ascending order */
    Index n_candidate_cells, n_numbers, n_counts; /* current sizes of the buffers that grow */
    Index most_responses, widest_variable;        /* of all variables: responses, and columns */
    jmp_buf failure; /* where to go if memory runs out */
} Space;

/* --- memory.c --- */
int with_space(const Model *model, void (*task)(const Model *, Space *, void *), void *argument);
void *grown(Space *space, void *old, Index count, size_t size);
void *at_least(Space *space, void *old, Index *present, Index count, size_t size);
void reserve_columns(Space *space, Index n_columns);

/* --- regression.c --- */
Index append(const Model *model, Regression *work, Index column, double sd, Index size, Index known);
void extend(const Model *model, Space *space, Index done, Index size);
void sums_with(const Model *model, const Space *space, Index at, Index size, double *sums);
void invert(Space *space, Index size);
void sums_without(Space *space, Index size, Index n_dropped);

/* --- family_score.c --- */
double evidence(const Model *model, Index child, double *sums);
Index append_parent(const Model *model, Index child, Index parent, Index start, Index stop, Regression *work, Index size);
Index append_products(
    const Model *model, const Family *family, Index first, Index n_parents, Index above, Index crossed, Regression *work,
    Index size);
double prior_sd(const Model *model, Index child, Index parent, Index index);
void reserve(const Model *model, Space *space, Index n_parents, Index crossed);
Regression *empty_regression(const Model *model, Space *space, Index child);
Index regression(const Model *model, Space *space, const Family *family);
double prices(const Model *model, Index child, const Index *parents, Index n_parents);
double score_of(const Model *model, Space *space, const Family *family);

/* --- counted_family.c --- */
double counted_score(const Model *model, Space *space, Index child, const Index *parents, Index n_parents);
void improve_counted(const Model *model, Space *space, Family *family, Index n_members);

/* --- family_search.c --- */

/* A change of a family: its score, the parent that changes (a position among the parents, or a new variable; -1 if
 * none), whether that one enters as a curve, and the products. */
typedef struct {
    double score;
    Index where;
    bool curve;
    Index crossed;
} Change;

bool is_parent(const Family *family, Index variable);
void without_parent(Family *family, Index at);
Change one_more(const Model *model, Space *space, Family *family, Index parent);
double evidence_without(
    const Model *model, Space *space, Index child, Index variable, bool line_stays, Index crossed, Index size);
Index add_pair(const Model *model, Space *space, Family *family, Index one, Index size);
void improve_family(const Model *model, Space *space, Family *family);

/* --- graph_class.c --- */
enum { FORWARD, BACKWARD, UNDIRECTED, ABSENT }; /* types of pairs; see graph/probabilities.py */
EXPORT bool has_path(const bool *dag, Index n, Index start, Index end, bool *seen, Index *stack);
void write_types(const bool *dag, const bool *oriented, Index n, bool *arrows, bool *lines, int8_t *types);

static inline Index least(Index a, Index b) { return a < b ? a : b; }
static inline Index most(Index a, Index b) { return a > b ? a : b; }

/* How many columns of a parent enter. */
static inline Index n_columns(const Model *model, Index parent, bool curved)
{
    return curved ? model->starts[parent + 1] - model->starts[parent] : model->n_line[parent];
}

/* Whether there are enough samples for another parent. */
static inline bool may_grow(const Model *model, const Family *family)
{
    return (double)family->n_parents <= model->n_samples / 5.0;
}

static inline Index n_responses(const Model *model, Index child)
{
    return model->n_line[child] + (model->raw[child] >= 0);
}

#endif
