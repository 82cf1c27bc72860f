/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

/* This replaces libFuzzer. It runs the target once for each file of a directory, and for further files. */

static unsigned n_run;

static void run_file(const char *path) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_free_ uint8_t *data = NULL;
        struct stat st;

        if (!file || fstat(fileno(file), &st) < 0) {
                perror(path);
                exit(EXIT_FAILURE);
        }
        /* The block has exactly the size of the input, so that AddressSanitizer sees a read behind it. */
        data = malloc((size_t) st.st_size + !st.st_size);
        if (!data || fread(data, 1, (size_t) st.st_size, file) != (size_t) st.st_size)
                exit(EXIT_FAILURE);
        (void) LLVMFuzzerTestOneInput(data, (size_t) st.st_size);
        printf("ok %u - %s\n", ++n_run, strrchr(path, '/') + 1);
}

int main(int argc, char **argv) {
        struct dirent *e;
        DIR *directory;

        directory = argc >= 2 ? opendir(argv[1]) : NULL;
        if (!directory) {
                fprintf(stderr, "Usage: %s DIRECTORY [FILE...]\n", argv[0]);
                return EXIT_FAILURE;
        }
        while ((e = readdir(directory))) {
                _cleanup_free_ char *path = strdup_printf("%s/%s", argv[1], e->d_name);

                if (e->d_name[0] == '.')
                        continue;
                assert(path);
                run_file(path);
        }
        (void) closedir(directory);
        for (int i = 2; i < argc; i++)
                run_file(argv[i]);
        printf("1..%u\n", n_run);
        return n_run > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
