/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "support.h"

/* test-calls.c reads the cases and carries them out, call-commands.c has the commands, and call-answer.c
 * makes calls and compares answers. */

/* A text that tells why a step failed, and that the caller frees; NULL: the step did not fail. */
typedef char *Complaint;

typedef struct Case Case;

/* Each case, or row, that is carried out has a run of its own; rows of a case with the flag "together" share
 * one. */
typedef struct Run {
        Fixture service;
        Fixture other; /* the second caller, if its client is not NULL */
        const Case *of;
        GHashTable *pending; /* calls by their labels */
        GHashTable *seen;    /* values by theirs */
        GQueue signals;      /* signals that no step has taken, as answers */
        guint subscription;
} Run;

typedef struct Call {
        Fixture *caller;
        const GDBusMethodInfo *method;
        GAsyncResult *pending;
} Call;

/* A command is a step that is no call; it gets the words behind its name. */
typedef struct Command {
        const char *name;
        Complaint (*carry_out)(Run *r, char **words);
        guint min_words, max_words;
} Command;

/* Returns the value of $NAME, or NULL. */
typedef const char *(*Lookup)(const char *name, gconstpointer data);

/* Messages have the name of the file of cases. */
extern const char *file;

/* Returns the text with the values of its $NAMEs. */
char *expand(const char *text, Lookup lookup, gconstpointer data);
/* Returns the words of a text, which the caller frees. */
char **split(const char *text);
/* The test fails if the text is no number. */
guint64 to_number(const char *text);

/* Returns an empty table of values by their names. */
GHashTable *answer_new(void);
/* Adds the value under the name, or all keys of a dictionary. */
void answer_add(GHashTable *answer, const char *name, GVariant *value);
/* Compare the answer with one expectation, or with all up to a NULL. */
Complaint compare(Run *r, GHashTable *answer, const char *expectation);
Complaint compare_all(Run *r, GHashTable *answer, char **expectations);

/* Return the interface of an object that a step names, and its path, which the caller frees. */
const char *interface_of(const char *object);
char *path_of(const char *object);
/* Returns NULL if selvold has no such interface. */
GDBusInterfaceInfo *find_interface(const char *interface);
/* Returns the method and its interface; NULL if the object has no such method. */
const GDBusMethodInfo *find_method(const char *object, const char *method, const char **ret_interface);
/* The words are arguments up to "->" or "!!"; *ret_expected gets the rest. */
Call *start_call(Fixture *caller, const char *object, const char *interface, const GDBusMethodInfo *method,
                 char **words, char ***ret_expected);
/* Waits for the answer and compares it; expected begins with "->" or "!!", or is empty, which means "->".
 * Frees the call. */
Complaint end_call(Run *r, Call *call, char **expected);
/* Compares the properties of an object. */
Complaint check_properties(Run *r, const char *object, char **expectations);

/* Returns NULL if no command has that name. */
const Command *find_command(const char *name);
/* Keeps the signal for the command "signal". */
void on_signal(GDBusConnection *bus, const char *sender, const char *path, const char *interface, const char *name,
               GVariant *parameters, gpointer userdata);
