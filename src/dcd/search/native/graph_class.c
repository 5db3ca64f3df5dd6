/* The equivalence class of a DAG as types of pairs, and the graph whose class has the least loss. */
#include "native.h"

static const double LEAST_GAIN = 1e-9;

/* Whether b has a parent that is not adjacent to its parent a. */
static bool in_collider(const bool *dag, Index n, Index a, Index b)
{
    for (Index c = 0; c < n; c++)
        if (c != a && dag[c * n + b] && !(dag[a * n + c] || dag[c * n + a]))
            return true;
    return false;
}

static bool beside(const bool *arrows, const bool *lines, Index n, Index a, Index b)
{
    return arrows[a * n + b] || arrows[b * n + a] || lines[a * n + b];
}

/* Whether one of Meek's rules directs a - b as a -> b. */
static bool is_implied(const bool *arrows, const bool *lines, Index n, Index a, Index b)
{
    for (Index c = 0; c < n; c++) {
        if (arrows[c * n + a] && c != b && !beside(arrows, lines, n, c, b)) /* rule 1 */
            return true;
        if (arrows[a * n + c] && arrows[c * n + b]) /* rule 2 */
            return true;
        if (!(arrows[c * n + b] && beside(arrows, lines, n, a, c)))
            continue;
        for (Index d = 0; d < n; d++) {
            bool third = lines[a * n + c] && lines[a * n + d] && arrows[d * n + b] && d != c;
            bool fourth = lines[a * n + d] && arrows[d * n + c] && d != b;
            if ((third && !beside(arrows, lines, n, c, d)) || (fourth && !beside(arrows, lines, n, d, b)))
                return true;
        }
    }
    return false;
}

/* Write the type of each pair in the class of a DAG; `arrows` and `lines` (n, n) are workspace.
 * Unshielded colliders, and edges for which knowledge allows only one direction, are arrows; Meek's four rules add
 * the arrows that these imply. */
void write_types(const bool *dag, const bool *oriented, Index n, bool *arrows, bool *lines, int8_t *types)
{
    for (Index a = 0; a < n; a++)
        for (Index b = 0; b < n; b++)
            arrows[a * n + b] = dag[a * n + b] && (oriented[a * n + b] || in_collider(dag, n, a, b));
    for (Index a = 0; a < n; a++)
        for (Index b = 0; b < n; b++)
            lines[a * n + b] =
                (dag[a * n + b] && !arrows[a * n + b]) || (dag[b * n + a] && !arrows[b * n + a]);
    for (bool changed = true; changed;) {
        changed = false;
        for (Index a = 0; a < n; a++)
            for (Index b = 0; b < n; b++)
                if (lines[a * n + b] && dag[a * n + b] && is_implied(arrows, lines, n, a, b)) {
                    arrows[a * n + b] = changed = true;
                    lines[a * n + b] = lines[b * n + a] = false;
                }
    }
    for (Index a = 0; a < n; a++)
        for (Index b = 0; b < n; b++) {
            int8_t type = lines[a * n + b] ? UNDIRECTED : ABSENT;
            types[a * n + b] = arrows[a * n + b] ? FORWARD : (arrows[b * n + a] ? BACKWARD : type);
        }
}

/* Whether there is a directed path between two variables; `seen` and `stack` (n,) are workspace. */
EXPORT bool has_path(const bool *dag, Index n, Index start, Index end, bool *seen, Index *stack)
{
    Index size = 1;
    for (Index v = 0; v < n; v++)
        seen[v] = false;
    stack[0] = start;
    while (size > 0) {
        const Index node = stack[--size];
        if (node == end)
            return true;
        for (Index child = 0; child < n; child++)
            if (dag[node * n + child] && !seen[child]) {
                seen[child] = true;
                stack[size++] = child;
            }
    }
    return false;
}

/* --- for Python --- */

/* A graph, the directions that knowledge leaves, and workspace; see `_Graph` in graph_class.py. */
typedef struct {
    bool *dag;
    const bool *oriented;
    bool *arrows, *lines;
    int8_t *types;
    bool *seen;
    Index *stack;
    Index n;
} Graph;

SIZE_OF(Graph);

EXPORT void class_types(Graph *graph)
{
    write_types(graph->dag, graph->oriented, graph->n, graph->arrows, graph->lines, graph->types);
}

/* The loss of the class of a DAG; `loss` (4, n, n) is that of each type of each pair. */
EXPORT double class_loss(Graph *graph, const double *loss)
{
    const Index n = graph->n;
    double total = 0.0;
    class_types(graph);
    for (Index a = 0; a < n; a++)
        for (Index b = 0; b < a; b++)
            total += loss[((Index)graph->types[a * n + b] * n + a) * n + b];
    return total;
}

/* Set the relation of a pair to a -> b, b -> a or none, unless that makes a cycle or is not allowed. */
static bool relate(Graph *graph, const bool *allowed, Index a, Index b, bool arrow, bool opposite)
{
    const Index n = graph->n;
    bool *there = graph->dag + a * n + b, *back = graph->dag + b * n + a, forward = *there, backward = *back;
    if ((arrow && !allowed[a * n + b]) || (opposite && !allowed[b * n + a]) || (arrow == forward && opposite == backward))
        return false;
    *there = *back = false;
    if ((arrow && has_path(graph->dag, n, b, a, graph->seen, graph->stack))
        || (opposite && has_path(graph->dag, n, a, b, graph->seen, graph->stack))) {
        *there = forward;
        *back = backward;
        return false;
    }
    *there = arrow;
    *back = opposite;
    return true;
}

/* Change one relation after another while this lowers the loss. */
EXPORT void improve_loss(Graph *graph, const double *loss, const bool *possible, const bool *allowed)
{
    const Index n = graph->n;
    double best = class_loss(graph, loss);
    for (bool improved = true; improved;) {
        improved = false;
        for (Index a = 0; a < n; a++)
            for (Index b = 0; b < a; b++)
                for (int relation = 0; possible[a * n + b] && relation < 3; relation++) {
                    const bool forward = graph->dag[a * n + b], backward = graph->dag[b * n + a];
                    if (!relate(graph, allowed, a, b, relation == 0, relation == 1))
                        continue;
                    const double total = class_loss(graph, loss);
                    if (total < best - LEAST_GAIN) {
                        best = total;
                        improved = true;
                    } else {
                        graph->dag[a * n + b] = forward;
                        graph->dag[b * n + a] = backward;
                    }
                }
    }
}
