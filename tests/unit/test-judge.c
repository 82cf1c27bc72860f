/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan-fixture.h"
#include "plan/plan-files.h"

/* selvold judges whether a mark is still true, by the fingerprint of the file system and by its own
 * knowledge. */

#define EXT(count) "ext4:01234567-89ab-cdef-0123-456789abcdef:5:" count

static Fingerprint fingerprint(const char *text) {
        Fingerprint f;

        g_assert_cmpint(fingerprint_from_string(text, &f), ==, 0);
        return f;
}

/* --- the mark --- */

enum {
        ALIVE = 1,
        BESIDE = 2,
        TRUSTED = 4,
        FRESH = 8,
        ADOPTED = 16,
        WRITABLE = 32,
        COPIED = 64, /* to another directory */
        HIDDEN = 128,
        ELSEWHERE = 256, /* the mark is of another file system */
        NAMELESS = 512,  /* nothing has an identity */
        RENAMED = 1024,  /* the record is of another file system */
};

static Identity identity(const char *text) {
        Identity i;

        g_assert_cmpint(identity_from_string(text, &i), ==, 0);
        return i;
}

TEST(test_judge, "/judge/mark") {
        static const struct {
                const char *mark, *before, *now, *kept;
                unsigned flags;
                MarkTrust trust;
        } rows[] = {
                /* selvold has mounted ext4, and nobody has between the mark and that; the mount may be
                 * shared. */
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE, MARK_TRUSTED },
                { EXT("1:7"), EXT("1:7"), EXT("1:7"), "", FRESH, MARK_TRUSTED },
                { EXT("1:7"), EXT("1:7"), EXT("1:7"), "", WRITABLE, MARK_TRUSTED },
                { EXT("1:65535"), EXT("1:65535"), EXT("2:0"), "", FRESH | WRITABLE, MARK_TRUSTED },
                /* Somebody else has mounted it before, in between, or so often that the count has the same
                 * value. */
                { EXT("1:7"), EXT("2:8"), EXT("3:9"), "", FRESH | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("1:7"), EXT("3:9"), "", FRESH | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("2:7"), EXT("3:8"), "", FRESH | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("2:8"), EXT("2:8"), "", ALIVE | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("2:8"), EXT("3:9"), EXT("2:8"), FRESH | WRITABLE, MARK_STALE },
                /* It is another file system, or one that selvold can't read. */
                { "ext4:another:5:1:7", EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE, MARK_STALE },
                { EXT("1:7"), "", "", "", FRESH | WRITABLE, MARK_STALE },
                { "", EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE, MARK_STALE },
                /* The adopted mount is the driver's, who is the only one; a mount of selvold's own is not
                 * counted. */
                { EXT("1:7"), "", EXT("2:8"), "", ADOPTED | WRITABLE, MARK_TRUSTED },
                { EXT("1:7"), "", EXT("1:7"), "", ADOPTED | WRITABLE, MARK_TRUSTED },
                { EXT("1:7"), "", EXT("2:9"), "", ADOPTED | WRITABLE, MARK_STALE },
                { EXT("1:7"), "", EXT("2:8"), "", ADOPTED, MARK_STALE },
                { EXT("1:7"), "", EXT("1:7"), "", WRITABLE, MARK_TRUSTED },
                { EXT("1:7"), "", EXT("2:8"), "", WRITABLE, MARK_STALE },
                /* Others have it now, or the root is a copy; or the configuration trusts all marks. */
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", BESIDE | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("1:7"), EXT("1:7"), "", HIDDEN | WRITABLE, MARK_STALE },
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE | COPIED, MARK_STALE },
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE | COPIED | TRUSTED, MARK_STALE },
                { EXT("1:7"), EXT("2:8"), EXT("3:9"), "", FRESH | WRITABLE | TRUSTED, MARK_TRUSTED_BY_SETTING },
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE | TRUSTED, MARK_TRUSTED },
                /* xfs and btrfs have the fingerprint that selvold kept, and nobody has mounted them
                 * meanwhile. */
                { "", "xfs:7", "xfs:7", "xfs:7", FRESH | WRITABLE, MARK_TRUSTED },
                { "", "xfs:8", "xfs:8", "xfs:7", FRESH | WRITABLE, MARK_STALE },
                { "", "xfs:7", "xfs:7", "xfs:7", WRITABLE, MARK_STALE },
                { "", "", "", "", FRESH | WRITABLE, MARK_STALE },
                { "", "xfs:7", "xfs:7", "", FRESH | WRITABLE, MARK_STALE },
                { "", "", "", "xfs:7", FRESH | WRITABLE, MARK_STALE },
                { "", "xfs:7", "xfs:7", "xfs:7", FRESH | WRITABLE | BESIDE, MARK_STALE },
                { "", "", "btrfs:7", "btrfs:7", ADOPTED | WRITABLE, MARK_TRUSTED },
                { "", "", "btrfs:8", "btrfs:7", ADOPTED | WRITABLE, MARK_STALE },
                /* selvold has had it mounted all the time, which counts on any file system. */
                { "", "xfs:8", "xfs:8", FINGERPRINT_MOUNTED, ALIVE | WRITABLE, MARK_TRUSTED },
                { "", "", "", FINGERPRINT_MOUNTED, ALIVE | WRITABLE, MARK_TRUSTED },
                { "", "", "", FINGERPRINT_MOUNTED, FRESH | WRITABLE, MARK_STALE },
                { "", "", "", FINGERPRINT_MOUNTED, ALIVE | BESIDE | WRITABLE, MARK_STALE },
                { "", "", "", "", FRESH | WRITABLE | TRUSTED, MARK_TRUSTED_BY_SETTING },
                /* The mark was copied from another file system, or nobody knows that it was not; what selvold
                 * knows is of another file system. */
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE | ELSEWHERE | TRUSTED, MARK_STALE },
                { "", "xfs:7", "xfs:7", "xfs:7", FRESH | WRITABLE | ELSEWHERE, MARK_STALE },
                { "", "xfs:8", "xfs:8", FINGERPRINT_MOUNTED, ALIVE | WRITABLE | ELSEWHERE | TRUSTED, MARK_STALE },
                { "", "", "", FINGERPRINT_MOUNTED, ALIVE | WRITABLE | NAMELESS | TRUSTED, MARK_STALE },
                { "", "xfs:7", "xfs:7", "xfs:7", FRESH | WRITABLE | RENAMED, MARK_STALE },
                { "", "xfs:8", "xfs:8", FINGERPRINT_MOUNTED, ALIVE | WRITABLE | RENAMED, MARK_STALE },
                { EXT("1:7"), EXT("1:7"), EXT("2:8"), "", FRESH | WRITABLE | RENAMED, MARK_TRUSTED },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const unsigned flags = rows[i].flags;
                Mark mark = { .found = MARK_PRESENT,
                              .identity = identity(flags & NAMELESS    ? ""
                                                   : flags & ELSEWHERE ? "btrfs:1:257"
                                                                       : "btrfs:1:256"),
                              .inode = 2,
                              .fingerprint = fingerprint(rows[i].mark) };
                const MarkEvidence e = {
                        .mark = &mark,
                        .identity = identity(flags & NAMELESS ? "" : "btrfs:1:256"),
                        .root_inode = flags & COPIED ? 3 : 2,
                        .before = fingerprint(rows[i].before),
                        .now = fingerprint(rows[i].now),
                        .fresh = flags & FRESH,
                        .hidden = flags & HIDDEN,
                        .adopted = flags & ADOPTED,
                        .writable = flags & WRITABLE,
                        .history = { .alive = flags & ALIVE,
                                     .beside = flags & BESIDE,
                                     .trusted = flags & TRUSTED,
                                     .identity = identity(flags & RENAMED ? "btrfs:2:256" : ""),
                                     .kept = fingerprint(rows[i].kept) },
                };

                if (files_judge_mark(&e) != rows[i].trust)
                        g_error("row %zu: %u", i, files_judge_mark(&e));
                mark.found = MARK_INVALID;
                g_assert_cmpint(files_judge_mark(&e), ==, MARK_STALE);
        }
}

/* That a mark is not believed is the reason only if there is no other. The answer tells if a mark is only
 * trusted. */
TEST(test_decide, "/judge/decide") {
        static const struct {
                FilesState state;
                bool tainted, force;
                MarkTrust trust;
                RelabelReason labels;
                OwnershipReason groups;
        } rows[] = {
                { FILES_COMPLETE, false, false, MARK_TRUSTED, RELABEL_REASON_COMPLETE, OWNERSHIP_COMPLETE },
                { FILES_COMPLETE, false, false, MARK_TRUSTED_BY_SETTING, RELABEL_REASON_TRUSTED, OWNERSHIP_TRUSTED },
                { FILES_COMPLETE, false, false, MARK_STALE, RELABEL_REASON_ELSEWHERE, OWNERSHIP_ELSEWHERE },
                { FILES_COMPLETE, true, false, MARK_STALE, RELABEL_REASON_TAINTED, OWNERSHIP_ELSEWHERE },
                { FILES_COMPLETE, true, false, MARK_TRUSTED_BY_SETTING, RELABEL_REASON_TAINTED, OWNERSHIP_TRUSTED },
                { FILES_COMPLETE, false, true, MARK_STALE, RELABEL_REASON_FORCED, OWNERSHIP_FORCED },
                { FILES_PARTIAL, false, false, MARK_STALE, RELABEL_REASON_PARTIAL, OWNERSHIP_PARTIAL },
                { FILES_PARTIAL, false, false, MARK_TRUSTED_BY_SETTING, RELABEL_REASON_PARTIAL, OWNERSHIP_PARTIAL },
                { FILES_UNKNOWN, false, false, MARK_STALE, RELABEL_REASON_UNKNOWN, OWNERSHIP_UNKNOWN },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const bool skips = rows[i].labels == RELABEL_REASON_COMPLETE ||
                                   rows[i].labels == RELABEL_REASON_TRUSTED,
                           group_skips = rows[i].groups == OWNERSHIP_COMPLETE || rows[i].groups == OWNERSHIP_TRUSTED;
                const Mark mark = { .found = MARK_PRESENT,
                                    .label_state = rows[i].state,
                                    .context = (char *) CONTEXT_0_1,
                                    .tainted = rows[i].tainted,
                                    .ownership_state = rows[i].state,
                                    .gid = 5 };
                const FilesSeen seen = { .mark = &mark,
                                         .trust = rows[i].trust,
                                         .root_context = CONTEXT_0_1,
                                         .root_gid = 5,
                                         .root_mode = S_IFDIR | 02770 };
                FilesWanted w = { .context = (char *) CONTEXT_0_1,
                                  .gid = 5,
                                  .swapped_gid = GID_NONE,
                                  .ownership = OWNERSHIP_WALK,
                                  .gate = true,
                                  .force = rows[i].force };
                FilesDecision d = files_decide(&w, &seen);

                g_assert_cmpint(d.relabel_reason, ==, rows[i].labels);
                g_assert_cmpint(d.ownership_reason, ==, rows[i].groups);
                g_assert_cmpint(d.relabel, ==, skips ? RELABEL_SKIP : RELABEL_WALK);
                g_assert_cmpint(d.ownership, ==, group_skips ? OWNERSHIP_SKIP : OWNERSHIP_WALK);

                /* The walk compares labels unless the mark tells that all files have another label. */
                w.context = (char *) CONTEXT_0_2;
                d = files_decide(&w, &seen);
                g_assert_cmpint(d.blind, ==, skips);
        }
}

/* --- what selvold knows --- */

#define TARGETS "/var/lib/kubelet/pods/"

TEST(test_witness, "/judge/history") {
        static const struct {
                const char *kept;
                const char *mounts; /* "TARGET ROOT [ro]", separated by commas; the holder's mount has id 7 */
                bool shared, adopted, alive, beside;
        } rows[] = {
                { "", "", false, false, false, false },
                { "xfs:1", TARGETS "held /", true, false, false, false },
                { "mounted", TARGETS "held /", true, false, true, false },
                { "mounted", TARGETS "held /", false, false, true, false },
                { "mounted", "", false, false, false, false },
                { "mounted", TARGETS "gone /", false, true, false, false },
                /* A stranger's mount counts anywhere, unless it is read-only; beneath the targets mounts of a
                 * part, and the driver's mount, do not count. */
                { "mounted", TARGETS "held /,/mnt /", true, false, true, true },
                { "mounted", TARGETS "held /,/mnt / ro", true, false, true, false },
                { "mounted", TARGETS "held /,/mnt /sub", true, false, true, true },
                { "mounted", TARGETS "held /," TARGETS "other /", true, false, true, true },
                { "mounted", TARGETS "held /," TARGETS "other /sub", true, false, true, false },
                { "mounted", TARGETS "held /sub," TARGETS "other /subject", true, false, true, true },
                { "mounted", TARGETS "held /," TARGETS "own /", true, false, true, false },
                { "", TARGETS "own /," TARGETS "global /", false, true, false, false },
                { "", TARGETS "own /,/mnt /", false, true, false, true },
                { "", TARGETS "global /", false, false, false, true },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(GStrv) mounts = g_strsplit(rows[i].mounts, ",", -1);
                Settings settings = test_settings(NULL);
                Volumes volumes = { 0 };
                Volume *v = volume_new("v");
                Holder *h = calloc(1, sizeof(*h));
                MountFact facts[4] = { 0 };
                Observed observed = { .mounts = facts };
                MarkHistory w;

                *h = (Holder){ .name = copy("h"),
                               .target = copy(TARGETS "held"),
                               .state = HOLDER_MOUNTED,
                               .context = copy(""),
                               .device = copy("8:1"),
                               .spec = copy(""),
                               .mount_id = 7 };
                v->fingerprint = fingerprint(rows[i].kept);
                g_assert_cmpint(volumes_add(&volumes, v), ==, 0);
                g_assert_cmpint(volume_add_holder(v, h), ==, 0);
                for (char **m = mounts; *m; m++) {
                        g_auto(GStrv) words = g_strsplit(*m, " ", -1);

                        facts[observed.n_mounts++] = (MountFact){
                                .target = copy(words[0]),
                                .root = copy(words[1]),
                                .device = copy("8:1"),
                                .read_only = words[2] != NULL,
                                .mount_id = g_str_has_suffix(words[0], "held") ? 7 : 8,
                        };
                }
                const Others others = {
                        .volumes = &volumes, .own = v, .observed = &observed, .target = TARGETS "own"
                };

                w = plan_mark_history(&(MarkHistoryInput){ .settings = &settings,
                                                           .others = &others,
                                                           .volume_type = "csi",
                                                           .shared = rows[i].shared,
                                                           .adopted = rows[i].adopted });
                if (w.alive != rows[i].alive || w.beside != rows[i].beside)
                        g_error("row %zu: alive %d, beside %d", i, w.alive, w.beside);
                g_assert_false(w.trusted);
                g_assert_cmpstr(w.kept.text, ==, rows[i].kept);
                for (size_t k = 0; k < observed.n_mounts; k++)
                        mount_fact_done(&facts[k]);
                volumes_done(&volumes);
        }
}

/* The section of the driver has precedence over that of the volume type. */
TEST(test_trusted, "/judge/trusted") {
        static const struct {
                const char *dropin, *driver;
                bool trusted;
        } rows[] = {
                { NULL, "d.example", false },
                { "[Driver d.example];TrustedMark=yes", "d.example", true },
                { "[Driver d.example];TrustedMark=yes", "e.example", false },
                { "[Driver d.example];TrustedMark=yes", NULL, false },
                { "[VolumeType csi];TrustedMark=yes", "d.example", true },
                { "[VolumeType csi];TrustedMark=yes;[Driver d.example];TrustedMark=no", "d.example", false },
                { "[VolumeType csi];TrustedMark=no;[Driver d.example];Managed=always", "d.example", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Settings settings = test_settings(rows[i].dropin);
                const Volumes none = { 0 };
                const Observed nothing = { 0 };
                const Others others = { .volumes = &none, .observed = &nothing, .target = "" };
                MarkHistory w = plan_mark_history(&(MarkHistoryInput){
                        .settings = &settings, .others = &others, .driver = rows[i].driver, .volume_type = "csi" });

                g_assert_cmpint(w.trusted, ==, rows[i].trusted);
                g_assert_false(w.alive || w.beside || fingerprint_is_known(&w.kept));
        }
}
