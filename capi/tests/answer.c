/* Plans the graph of a file within a budget, with pairs of options, and prints the answer:
 * answer GRAPH BUDGET [NAME VALUE]... */
#include "check.h"

/* The text of a file. */
static char *text_of(const char *path) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const long length = ftell(file);
    rewind(file);
    char *text = calloc((size_t)length + 1, 1);
    CHECK(text != NULL && fread(text, 1, (size_t)length, file) == (size_t)length);
    fclose(file);
    return text;
}

int main(int count, char **words) {
    CHECK(count >= 3 && count % 2 == 1);
    const int64_t pairs = (count - 3) / 2;
    const char *names[16], *values[16];
    CHECK(pairs <= 16);
    for (int64_t pair = 0; pair < pairs; pair++) {
        names[pair] = words[3 + 2 * pair];
        values[pair] = words[4 + 2 * pair];
    }
    char *graph = text_of(words[1]), *answer = NULL;
    OK(remat_plan(graph, words[2], names, values, pairs, NULL, &answer, NULL));
    puts(answer);
    OK(remat_free_text(answer));
    free(graph);
    return 0;
}
