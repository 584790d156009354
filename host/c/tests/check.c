/* Uses every function of the header, and checks what it gives. Exits with 0 if all is right. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "warpath.h"

static int checks;

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    ++checks;                                                                             \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "%s:%d: %s\n  last error: %s\n", __FILE__, __LINE__, #condition,    \
              warpath_error_message());                                                   \
      exit(1);                                                                            \
    }                                                                                     \
  } while (0)

/* True if the last failure is of a kind, and its message contains a text. */
static bool failed(WarpathErrorKind kind, const char *text) {
  return warpath_error_kind() == kind && strstr(warpath_error_message(), text) != NULL;
}

static bool is(const WarpathMatch *match, const char *text) {
  return match->size == strlen(text) && memcmp(match->text, text, match->size) == 0;
}

static bool bit(const void *bits, int64_t at) {
  return bits == NULL || (((const uint8_t *)bits)[at / 8] >> (at % 8) & 1);
}

static void matches(const char *path) {
  WarpathInput *input = warpath_open(&path, 1, NULL);
  CHECK(input != NULL);
  uint64_t count = 0;
  CHECK(warpath_count(input, "$.id", &count) == 0 && count == 4);

  WarpathMatches *matches = warpath_query(input, "$.tags[*]");
  CHECK(matches != NULL);
  WarpathMatch match;
  CHECK(warpath_next(matches, &match) == 1 && is(&match, "\"a\"") && match.line == 2);
  CHECK(strcmp(match.source, path) == 0 && match.offset == 63);
  CHECK(warpath_next(matches, &match) == 1 && is(&match, "\"b\"") && match.line == 2);
  CHECK(warpath_next(matches, &match) == 0);
  CHECK(warpath_next(matches, &match) == 0);
  warpath_matches_free(matches);

  /* Conditions add up. Matches that were made before are not affected, and outlive the input. */
  WarpathMatches *all = warpath_query(input, "$.id");
  CHECK(warpath_where(input, "$.n >= 2") == 0);
  CHECK(warpath_count(input, "$.id", &count) == 0 && count == 3);
  CHECK(warpath_where(input, "$.lang == 'fi'") == 0);
  CHECK(warpath_count(input, "$.id", &count) == 0 && count == 1);
  warpath_input_free(input);
  for (count = 0; warpath_next(all, &match) == 1; ++count) {
  }
  CHECK(count == 4);
  warpath_matches_free(all);
}

static void columns(const char *path) {
  WarpathInput *input = warpath_open(&path, 1, NULL);
  CHECK(input != NULL && warpath_where(input, "$.id != 1") == 0);
  WarpathColumn columns[] = {
      {"id", "$.id", "int64", NULL},
      {"lang", "$.lang", NULL, "\"und\""},
      {"n", "$.n", "float64", NULL},
      {"tags", "$.tags[*]", "string", NULL},
  };
  struct ArrowArrayStream stream;
  WarpathLosses *losses = NULL;
  CHECK(warpath_select(input, columns, 4, &stream, &losses) == 0);
  warpath_input_free(input);

  struct ArrowSchema schema;
  CHECK(stream.get_schema(&stream, &schema) == 0);
  CHECK(strcmp(schema.format, "+s") == 0 && schema.n_children == 4);
  const char *formats[] = {"l", "u", "g", "+l"};
  for (int at = 0; at < 4; ++at) {
    CHECK(strcmp(schema.children[at]->format, formats[at]) == 0);
    CHECK(strcmp(schema.children[at]->name, columns[at].name) == 0);
    CHECK(schema.children[at]->flags & ARROW_FLAG_NULLABLE);
  }
  schema.release(&schema);

  struct ArrowArray batch;
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.release != NULL);
  CHECK(batch.length == 3 && batch.n_children == 4);
  struct ArrowArray *id = batch.children[0], *lang = batch.children[1], *n = batch.children[2];
  struct ArrowArray *tags = batch.children[3];
  const int64_t *ids = id->buffers[1];
  CHECK(ids[0] == 2 && ids[1] == 3 && !bit(id->buffers[0], 2) && id->null_count == 1);
  const int32_t *ends = lang->buffers[1];
  CHECK(ends[0] == 0 && ends[1] == 2 && ends[2] == 4 && ends[3] == 7);
  CHECK(memcmp(lang->buffers[2], "enfiund", 7) == 0);
  const double *values = n->buffers[1];
  CHECK(values[0] == 2.5 && values[1] == 3e2 && !bit(n->buffers[0], 2));
  const int32_t *lists = tags->buffers[1];
  CHECK(lists[0] == 0 && lists[1] == 2 && lists[3] == 2 && tags->children[0]->length == 2);
  batch.release(&batch);
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.release == NULL);
  stream.release(&stream);

  /* The losses outlive the stream. */
  WarpathLoss loss;
  CHECK(warpath_losses_get(losses, 0, &loss) == 0);
  CHECK(strcmp(loss.first_mismatch_source, path) == 0);
  CHECK(loss.mismatch == 1 && loss.first_mismatch == 4 && loss.overflow == 0 && loss.missing == 0);
  CHECK(warpath_losses_get(losses, 2, &loss) == 0);
  CHECK(loss.overflow == 1 && loss.first_overflow == 4 && loss.first_mismatch == 0);
  CHECK(warpath_losses_get(losses, 4, &loss) == -1 && failed(WARPATH_ERROR_KIND_USAGE, "column 4"));
  warpath_losses_free(losses);
}

/* The first loss of a column has its file and its line. */
static void losses_of_several_files(const char *path) {
  const char *names[] = {"other.ndjson", path};
  WarpathInput *input = warpath_open(names, 2, NULL);
  CHECK(input != NULL);
  WarpathColumn columns[] = {{"id", "$.id", "int64", NULL}, {"n", "$.n", "float64", NULL}};
  struct ArrowArrayStream stream;
  WarpathLosses *losses = NULL;
  CHECK(warpath_select(input, columns, 2, &stream, &losses) == 0);
  warpath_input_free(input);
  WarpathLoss before, id, n;
  CHECK(warpath_losses_get(losses, 0, &before) == 0 && before.mismatch == 0);
  CHECK(before.first_mismatch == 0 && before.first_mismatch_source == NULL);
  struct ArrowArray batch;
  while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) batch.release(&batch);
  stream.release(&stream);
  CHECK(warpath_losses_get(losses, 0, &id) == 0 && warpath_losses_get(losses, 1, &n) == 0);
  /* Names are good until the losses are freed, also after other calls. */
  CHECK(id.mismatch == 1 && id.first_mismatch == 4 && strcmp(id.first_mismatch_source, path) == 0);
  CHECK(id.first_overflow == 0 && id.first_overflow_source == NULL);
  CHECK(n.overflow == 2 && n.first_overflow == 2 && strcmp(n.first_overflow_source, "other.ndjson") == 0);
  CHECK(n.first_mismatch == 0 && n.first_mismatch_source == NULL);
  warpath_losses_free(losses);
}

/* Options of an older version are shorter, and those of a newer one are longer. */
static void sizes_of_options(const char *path) {
  struct {
    WarpathOptions known;
    uint64_t later[2];
  } options = {.known = {.struct_size = sizeof options, .device = "cpu", .strict = true}};
  WarpathInput *input = warpath_open(&path, 1, &options.known);
  CHECK(input != NULL);
  warpath_input_free(input);
  options.later[1] = UINT64_C(1) << 63;
  CHECK(warpath_open(&path, 1, &options.known) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "later version"));
  CHECK(failed(WARPATH_ERROR_KIND_USAGE, "byte 63 "));
  /* A program sets the size of the options that it was compiled with. What comes after is not read. */
  options.known.struct_size = offsetof(WarpathOptions, time_format);
  options.known.time_format = "never";
  input = warpath_open(&path, 1, &options.known);
  CHECK(input != NULL);
  warpath_input_free(input);
  options.known.device = "tpu";
  CHECK(warpath_open(&path, 1, &options.known) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "tpu"));
  options.known.struct_size = sizeof options.known.struct_size;
  input = warpath_open(&path, 1, &options.known);
  CHECK(input != NULL);
  warpath_input_free(input);
  size_t wrong[] = {0, sizeof(size_t) - 1, sizeof(size_t) + 4, sizeof options.known + 1, 1 << 20, SIZE_MAX};
  for (size_t at = 0; at < sizeof wrong / sizeof *wrong; ++at) {
    options.known.struct_size = wrong[at];
    CHECK(warpath_open(&path, 1, &options.known) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "struct_size"));
  }
}

static void memory(void) {
  const char text[] = "{\"a\":1}\n{\"a\":2\n{\"a\":3}\n";
  const uint8_t *data = (const uint8_t *)text;
  WarpathInput *input = warpath_open_bytes(data, sizeof text - 1, NULL);
  CHECK(input != NULL);

  /* A malformed record: the matches before it, then a failure, then nothing. */
  WarpathMatches *matches = warpath_query(input, "$.a");
  WarpathMatch match;
  CHECK(warpath_next(matches, &match) == 1 && is(&match, "1"));
  CHECK(warpath_next(matches, &match) == -1 && failed(WARPATH_ERROR_KIND_RECORD, "<memory>:2:1: "));
  CHECK(warpath_next(matches, &match) == 0);
  warpath_matches_free(matches);

  WarpathColumn column = {"a", "$.a", "int64", NULL};
  struct ArrowArrayStream stream;
  struct ArrowArray batch;
  CHECK(warpath_select(input, &column, 1, &stream, NULL) == 0);
  CHECK(stream.get_next(&stream, &batch) == 0 && batch.length == 1);
  batch.release(&batch);
  CHECK(stream.get_next(&stream, &batch) != 0);
  CHECK(strstr(stream.get_last_error(&stream), "<memory>:2:1: ") != NULL);
  stream.release(&stream);

  /* A stream that is released before it is read. */
  CHECK(warpath_select(input, &column, 1, &stream, NULL) == 0);
  stream.release(&stream);
  warpath_input_free(input);

  WarpathOptions options = {.struct_size = sizeof options, .device = "cpu", .skip_malformed = true,
                            .workers = 1, .partition_size = 64, .strict = true, .time_format = "%d.%m.%Y"};
  input = warpath_open_bytes(data, sizeof text - 1, &options);
  CHECK(input != NULL);
  uint64_t count = 0;
  CHECK(warpath_count(input, "$.a", &count) == 0 && count == 2);
  warpath_input_free(input);

  options = (WarpathOptions){.struct_size = sizeof options, .json_document = true};
  const char document[] = "[\n 1,\n 2]\n";
  input = warpath_open_bytes((const uint8_t *)document, sizeof document - 1, &options);
  CHECK(input != NULL && warpath_count(input, "$[*]", &count) == 0 && count == 2);
  warpath_input_free(input);

  input = warpath_open_bytes(NULL, 0, NULL);
  CHECK(input != NULL && warpath_count(input, "$", &count) == 0 && count == 0);
  warpath_input_free(input);
}

static void errors(const char *path) {
  const char *absent = "no such file.ndjson", *pattern = "no-such-*";
  CHECK(warpath_open(&absent, 1, NULL) == NULL && failed(WARPATH_ERROR_KIND_INPUT, absent));
  CHECK(warpath_open(&pattern, 1, NULL) == NULL && failed(WARPATH_ERROR_KIND_INPUT, pattern));
  CHECK(warpath_open(NULL, 1, NULL) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "names"));
  CHECK(warpath_open_bytes(NULL, 1, NULL) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "data"));
  WarpathOptions options = {0};
  CHECK(warpath_open(&path, 1, &options) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "struct_size"));
  options = (WarpathOptions){.struct_size = sizeof options, .device = "tpu"};
  CHECK(warpath_open(&path, 1, &options) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "device `tpu`"));
  options.device = "cuda:4096";
  CHECK(warpath_open(&path, 1, &options) == NULL && failed(WARPATH_ERROR_KIND_DEVICE, "CUDA"));
  options = (WarpathOptions){.struct_size = sizeof options, .time_format = "never"};
  CHECK(warpath_open(&path, 1, &options) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "never"));

  WarpathInput *input = warpath_open(&path, 1, NULL);
  CHECK(warpath_query(input, "$.[") == NULL && failed(WARPATH_ERROR_KIND_QUERY, "column 3"));
  CHECK(warpath_query(input, NULL) == NULL && failed(WARPATH_ERROR_KIND_USAGE, "path"));
  CHECK(warpath_query(NULL, "$") == NULL && failed(WARPATH_ERROR_KIND_USAGE, "input"));
  CHECK(warpath_query(input, "$.\xff") == NULL && failed(WARPATH_ERROR_KIND_USAGE, "UTF-8"));
  CHECK(warpath_where(input, "$.a ==") == -1 && failed(WARPATH_ERROR_KIND_QUERY, "expected"));
  CHECK(warpath_where(NULL, "$.a") == -1 && warpath_where(input, NULL) == -1);
  CHECK(warpath_count(input, "$", NULL) == -1 && failed(WARPATH_ERROR_KIND_USAGE, "count"));
  CHECK(warpath_next(NULL, NULL) == -1 && failed(WARPATH_ERROR_KIND_USAGE, "matches"));

  struct ArrowArrayStream stream;
  WarpathColumn wrong[] = {{"a", "$.a", "int32", NULL}, {"a", "$.a", NULL, NULL}, {"a", "$.b", NULL, NULL}};
  CHECK(warpath_select(input, wrong, 1, &stream, NULL) == -1 && failed(WARPATH_ERROR_KIND_USAGE, "int32"));
  CHECK(warpath_select(input, wrong + 1, 2, &stream, NULL) == -1);
  CHECK(failed(WARPATH_ERROR_KIND_USAGE, "two columns have the name `a`"));
  CHECK(warpath_select(input, wrong + 1, 0, &stream, NULL) == -1);
  CHECK(warpath_select(input, wrong + 1, 1, NULL, NULL) == -1);
  CHECK(warpath_losses_get(NULL, 0, NULL) == -1);
  warpath_input_free(input);

  warpath_input_free(NULL);
  warpath_matches_free(NULL);
  warpath_losses_free(NULL);
}

int main(int count, char **arguments) {
  CHECK(count == 2);
  CHECK(warpath_error_kind() == WARPATH_ERROR_KIND_NONE && *warpath_error_message() == '\0');
  CHECK(strcmp(warpath_version(), VERSION) == 0);
  matches(arguments[1]);
  columns(arguments[1]);
  losses_of_several_files(arguments[1]);
  sizes_of_options(arguments[1]);
  memory();
  errors(arguments[1]);
  printf("%d checks\n", checks);
  return 0;
}
