/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "support.h"

/* What the files that carry out the text of test-calls.c share. */

/* What a step found wrong, as text that is to be freed; NULL: nothing. */
typedef char *Complaint;

typedef struct Case Case;

/* With what is common to the rows of a case. */
typedef struct Run {
        Fixture service, other; /* the latter: a second caller, if its client is not NULL */
        const Case *of;
        GHashTable *pending; /* calls by their labels */
        GHashTable *seen;    /* values by theirs */
        GQueue signals;      /* that nobody has looked at, as answers with a key for the object and the name */
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

/* The one that is read, for messages. */
extern const char *file;

/* The text with the values of its $NAMEs. */
char *expand(const char *text, Lookup lookup, gconstpointer data);
/* Its words, to be freed. */
char **split(const char *text);
/* The test fails if it is none. */
guint64 to_number(const char *text);

/* Values by their names. */
GHashTable *answer_new(void);
/* Of a dictionary all its keys; all else under the name. */
void answer_add(GHashTable *answer, const char *name, GVariant *value);
/* With one expectation, and with all of them up to a NULL. */
Complaint compare(Run *r, GHashTable *answer, const char *expectation);
Complaint compare_all(Run *r, GHashTable *answer, char **expectations);

/* The interface of an object that a step names, and its path, to be freed. */
const char *interface_of(const char *object);
char *path_of(const char *object);
/* NULL if it is none of this project's. */
GDBusInterfaceInfo *find_interface(const char *interface);
/* Also the method's interface. */
const GDBusMethodInfo *find_method(const char *object, const char *method, const char **ret_interface);
/* The words are those of the arguments, up to what is expected of the answer, which *ret_expected gets. */
Call *start_call(Fixture *caller, const char *object, const char *interface, const GDBusMethodInfo *method,
                 char **words, char ***ret_expected);
/* expected: "->" or "!!" and what follows; nothing stands for "->". It frees the call. */
Complaint end_call(Run *r, Call *call, char **expected);
/* Of all properties of the object. */
Complaint check_properties(Run *r, const char *object, char **expectations);

/* NULL if there is none of that name. */
const Command *find_command(const char *name);
/* Keeps it for the command "signal". */
void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *name,
               GVariant *parameters, gpointer userdata);
