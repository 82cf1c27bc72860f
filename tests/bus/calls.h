/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "support.h"

/* test-calls.c reads the cases and carries them out, call-commands.c has the commands, call-answer.c the calls and the
 * comparison of their answers. */

/* Says why a step failed, as text that is to be freed; NULL: it did not. */
typedef char *Complaint;

typedef struct Case Case;

/* A case that is carried out. Rows of a case that is "together" share one. */
typedef struct Run {
        Fixture service, other; /* the latter: a second caller, if its client is not NULL */
        const Case *of;
        GHashTable *pending; /* calls by their labels */
        GHashTable *seen;    /* values by theirs */
        GQueue signals;      /* that no step has taken, as answers with a key for the object and the name */
        guint subscription;
} Run;

typedef struct Call {
        Fixture *caller;
        const GDBusMethodInfo *method;
        GAsyncResult *pending;
} Call;

/* A step that is no call; the words are those behind its name. */
typedef struct Command {
        const char *name;
        Complaint (*carry_out)(Run *r, char **words);
        guint min_words, max_words;
} Command;

/* The value of $NAME, or NULL. */
typedef const char *(*Lookup)(const char *name, gconstpointer data);

/* The name of the file of cases, for messages. */
extern const char *file;

/* The text with the values of its $NAMEs. */
char *expand(const char *text, Lookup lookup, gconstpointer data);
/* Its words, to be freed. */
char **split(const char *text);
/* The test fails if the text is no number. */
guint64 to_number(const char *text);

/* Values by their names. */
GHashTable *answer_new(void);
/* Adds the value under the name; of a dictionary it adds each key instead. */
void answer_add(GHashTable *answer, const char *name, GVariant *value);
/* Compares the answer with one expectation, or with all of them up to a NULL. */
Complaint compare(Run *r, GHashTable *answer, const char *expectation);
Complaint compare_all(Run *r, GHashTable *answer, char **expectations);

/* The interface of an object that a step names, and its path, to be freed. */
const char *interface_of(const char *object);
char *path_of(const char *object);
/* NULL if it is no interface of selvold's. */
GDBusInterfaceInfo *find_interface(const char *interface);
/* Finds the method and its interface; NULL if the object has none of that name. */
const GDBusMethodInfo *find_method(const char *object, const char *method, const char **ret_interface);
/* The words are those of the arguments, up to what is expected of the answer, which *ret_expected gets. */
Call *start_call(Fixture *caller, const char *object, const char *interface, const GDBusMethodInfo *method,
                 char **words, char ***ret_expected);
/* Waits for the answer and compares it; expected begins with "->" or "!!", and nothing stands for "->". Frees the
 * call. */
Complaint end_call(Run *r, Call *call, char **expected);
/* Compares all properties of the object. */
Complaint check_properties(Run *r, const char *object, char **expectations);

/* NULL if no command has that name. */
const Command *find_command(const char *name);
/* Keeps the signal for the command "signal". */
void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *name,
               GVariant *parameters, gpointer userdata);
