/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The kinds of events in the journal. units/selvol.catalog explains each to an administrator; a test checks
 * that. An id never changes its meaning: a new kind of event gets a new id from "systemd-id128 new". */

/* A volume was mounted, and its label was verified. */
#define MESSAGE_MOUNTED "6e4d39945b7d46338d47eed5de94c0e2"
/* A volume was unmounted, and its holder released. */
#define MESSAGE_UNMOUNTED "3bf9526cb7414cbeb074909bf5346751"
/* A foreign mount was adopted and got a holder. */
#define MESSAGE_ADOPTED "1811d7fe74fe43bbb5f4a462cc930eb1"
/* Refused: another holder uses the volume with another context. */
#define MESSAGE_CONFLICT "ae52486311d54c8c9b0d81305620a478"
/* Refused for another reason, before anything was done. */
#define MESSAGE_REFUSED "fa736219bd0f49938e44d8686ff84acc"
/* An operation was tried and failed. */
#define MESSAGE_FAILED "4168f665acb245a1bcba4ecae97cceb6"
/* An operation was canceled: by a caller or an unmount, or because its callers had gone. */
#define MESSAGE_CANCELED "57a74fbf605c403fba2af1a84c7b0093"
/* A label is not the expected one. */
#define MESSAGE_VERIFY_MISMATCH "f44999408b17452ba2dd5124911b1ef4"
/* A holder's mount is gone without an UnmountVolume. */
#define MESSAGE_HOLDER_LOST "902caebf0cf3421aa9f1388cd7ef37e3"
/* The last holder is gone: the volume can have another context. */
#define MESSAGE_CONTEXT_RELEASED "26084ea48ac9441b8527edf1709d9aa7"
/* Another program covered or remounted a holder's mount. */
#define MESSAGE_MOUNT_CHANGED "5c0ef9f9a4134d29af86ae6b4f62af08"
/* A record was corrected by the mount table: finished or rolled back. */
#define MESSAGE_RECONCILED "03c47e5ba3064248941cb753b9e7f9a0"
/* The state can no longer be written. */
#define MESSAGE_STORE_FAILED "1fe72e3ec44b4c5ab66fb04c2db4bbfb"
/* The state could not be read and was set aside. */
#define MESSAGE_STORE_SET_ASIDE "849b45bb109c402496f22ecaa39c5a8a"
/* The worker could not be reached, died or broke the protocol. */
#define MESSAGE_WORKER_FAILED "f0718d1a0a3d43c2a9b87f51ef291ad9"
/* A volume is mounted, but its record was lost. */
#define MESSAGE_UNRECORDED "a2cfdda7c5784aa194de868c41737085"
/* The caller is not authorized. */
#define MESSAGE_DENIED "f56c450d604a4fbebc0ec814cb0e3fad"
/* selvold and selvol-worker have different configurations. */
#define MESSAGE_CONFIG_DIFFERS "202787f654834d709d4b10530244c6cb"
/* The configuration has an error. */
#define MESSAGE_CONFIG_INVALID "6bf03bf3ad9e4a35b78b2ba3f5317ef7"
/* The record of a volume was dropped. */
#define MESSAGE_FORGOTTEN "3fbd8f7ad3ee415bbec686ec0757ce3c"
/* selvold forgot a volume by itself: to make room, or as it was ephemeral. */
#define MESSAGE_FORGOTTEN_UNUSED "df7468b3719946e4a417ae73ba482767"
/* The files of a volume have been relabeled. */
#define MESSAGE_RELABELED "27caea025bc04dc0bc584799ad94ada0"
/* The files of a volume already have the right labels, as far as selvol can tell. */
#define MESSAGE_RELABEL_SKIPPED "91569b333c504b37a18f647633afe2c1"
/* Some or all files could not be relabeled. */
#define MESSAGE_RELABEL_FAILED "16534baef63347a2af172fea62b4bd00"
/* The mark on a volume was wrong about labels, groups or modes. */
#define MESSAGE_MARK_WRONG "ca4bc256f440452789c93131cb1d70b6"
/* The files of a volume were given to a group. */
#define MESSAGE_OWNERSHIP_APPLIED "def1f13af4534a338401ed3b1a41ab28"
/* The files of a volume already have the group, as far as selvol can tell. */
#define MESSAGE_OWNERSHIP_SKIPPED "a9e220dfdb82473597bc03288810cf7e"
/* The mount shows the group in place of the files' group on disk. */
#define MESSAGE_OWNERSHIP_MAPPED "017a025753b343b9beb6c49ac458e27f"
/* Some or all files could not be given to the group. */
#define MESSAGE_OWNERSHIP_FAILED "f3b3b422246040cdb0a2d2f5d1ce6874"
/* A walk over the files of a volume has begun. */
#define MESSAGE_STARTED "5bad547bfa5a42e6ac1cc774ac94c619"
/* A walk goes on: logged at growing intervals. */
#define MESSAGE_PROGRESS "3e3818012f0a4884a326b7b117cef4dd"
/* A mounted volume was mounted for another holder. */
#define MESSAGE_SHARED "51005ba2ac4748328647ec321a3b5ed6"
/* A job waits for another job, or for the end of a conflict. */
#define MESSAGE_WAITING "afdf3fa990074b70af2787933ccd962a"
/* A volume is another file system than the recorded one. */
#define MESSAGE_RENEWED "6a2c1f0e8d3b4c57a9e4d1b0f7c86352"
/* Files of a volume may have no label on disk from now on. */
#define MESSAGE_TAINTED "1213543d9f12431d9700f95bff98a221"
/* A relabel has given all files a label on disk again. */
#define MESSAGE_UNTAINTED "15e83f1c1eba4c589898844aeaceeaa0"
/* The state can be written again. */
#define MESSAGE_STORE_HEALED "90494afc9adf41b3820ae497245e8df6"
/* At start: the labels of a volume's files are partial. */
#define MESSAGE_INTERRUPTED "8b5561738d0446f0b68521275d1b7b0a"
/* Refused: another holder uses the files of the volume with another group. */
#define MESSAGE_GROUP_CONFLICT "004456ba4b354d2c9336dc60e2cd5ecd"
/* The worker has no place for a call: too many children linger. */
#define MESSAGE_WORKER_FULL "6693375ebef0b6f10841c9ebffe6da19"
/* The worker has places for all calls again. */
#define MESSAGE_WORKER_FREE "638b788546a2b73578ed0c6b68c1265d"
/* A CSI driver had mounted a volume without its context, and selvol has mounted it again. */
#define MESSAGE_REPAIRED "fa1c437a52dc4bc7a4b23f592d0f3e27"
