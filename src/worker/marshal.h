/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/observed.h"
#include "tree/tree.h"
#include "worker/mounted.h"

/* The types of wire/protocol.h, in the worker's direction. Strings that are not UTF-8, which D-Bus can't
 * carry, are escaped. All return 0 or a negative errno. */

int marshal_node(sd_bus_message *m, const Node *node) _warn_unused_;
int marshal_fact(sd_bus_message *m, const MountFact *fact) _warn_unused_;
int marshal_facts(sd_bus_message *m, const MountFact *facts, size_t n) _warn_unused_;
/* Outcome and record. */
int marshal_mounted(sd_bus_message *m, const Mounted *mounted) _warn_unused_;
int marshal_record(sd_bus_message *m, RecordFound found, const char *text) _warn_unused_;
int marshal_counts(sd_bus_message *m, const TreeCounts *counts) _warn_unused_;
/* Counts and issues, with their paths escaped and what is to be said of them. */
int marshal_tree(sd_bus_message *m, const TreeResult *result) _warn_unused_;
/* Paths, escaped, as many as the protocol allows. */
int marshal_paths(sd_bus_message *m, char *const *paths) _warn_unused_;

/* The whole reply of Mount, Stage and Publish. */
int reply_mounted(sd_bus_message *m, const Mounted *mounted) _warn_unused_;

/* A RecordEffect from its word. */
int unmarshal_effect(const char *word, RecordEffect *ret) _warn_unused_;
