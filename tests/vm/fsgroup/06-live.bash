# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2001,SC2046 # of lib.bash; words; for eval
# ApplyOwnership, VerifyLabel and AdoptVolume for a group, and then the records in journal, history and metrics.

T=$pods/live/v U=$pods/live/u source=/dev/scratch0
mkdir -p "$T" "$U"
mkfs.ext4 -q -F $source
fill_disk $source 40

mount_volume live $source "$T"
unmount_volume live "$T"
apply live 1000
applied 'nobody holds it' unknown
is 'nobody holds it: all were looked at' "$(field EntriesDone) $(field EntriesChanged) $(field EntriesFailed)" "$total $((total - 1)) "
is 'nobody holds it: what is known' "$(property live OwnershipState) $(property live DiskGroup)" '"complete" 1000'
is 'nobody holds it: on the disk' "$(on_disk $source groups_of /mnt)" "$total 1000"
apply live 2000
applied 'another group: not mapped, but on the disk' requested
is 'another group: the job says so' "$(field FSGroup) $(field DiskGroup)" '2000 2000'
is 'another group: on the disk' "$(on_disk $source groups_of /mnt)" "$total 2000"
# Other tests have these cases: a second call, a holder that relies on a group, an unknown volume: bus /ownership/apply,
# /ownership/apply-conflict; forced: root /ownership/readers; a stranger: faults/08-matrix.bash; selvolctl:
# bus /ctl/mount/mapped, /ctl/show/groups-json

mount_service s0:c1 live $source "$T" 'Holder s pod-A'
apply live 3000
applied 'mounted, and nobody relies on a group' requested
all_owned 'mounted: all have the group' "$T" 3000
all_labeled 'mounted: labels are left alone' "$T" "$file_type:s0:c1"
unmount_volume live "$T"

# ---- interrupted -------------------------------------------------------------------------------------------

# interrupted NAME: the volume is partial, and the next mount finishes
interrupted() {
    soon "$1: nobody walks any more" nobody_walks
    wait_for answers_calls
    is "$1: what is known" "$(property live OwnershipState) $(property live DiskGroup)" '"partial" 4000'
    like "$1: the volume says so" " $(on_disk $source mark /mnt) " ' ownership=partial gid=4000 '
    is "$1: both groups are there" "$(on_disk $source groups_of /mnt | cut -d' ' -f2 | xargs)" '3000 4000'
    mount_group 5000 live $source "$T"
    gives "$1: the next pod, with a third group" walked partial
    all_owned "$1: all have it" "$T" 5000
    unmount_volume live "$T"
    apply live 3000
    applied "$1: and back" requested
}
apply live 4000 'MaxEntriesPerSecond t 5'
wait_for job_has EntriesChanged 10
kill -KILL $(walker)
job_ends 'the child that walks: killed: the job fails' WorkerFailed
interrupted 'the child that walks'
apply live 4000 'MaxEntriesPerSecond t 5'
wait_for job_has EntriesChanged 10
job_call Cancel ''
is 'canceled: the job says so' "$error$(job_property State) $(job_property Result)" '"ended" "Canceled"'
interrupted 'canceled'
mount_group 6000 live $source "$T"
gives 'services restart: a mapped mount' mapped other-group
holders=$(property live Holders)
bring_up restart selvold selvol-worker
is 'services restart: the holders stay' "$(property live Holders)" "$holders"
mount_group 7000 live $source "$U"
gives 'services restart: another group beside it' mapped other-group
is 'services restart: each shows its own' "$(stat -c %g "$T/d0/f1" "$U/d0/f1" | xargs)" '6000 7000'
unmount_volume live "$U"
unmount_volume live "$T"

# ---- VerifyLabel -------------------------------------------------------------------------------------------

verify() { volume_call VerifyLabel 'ssa{sv}' live '' -- "$@"; }
mount_service s0:c1 live $source "$T" 'FSGroup u 3000'
verify 'Depth s full'
is 'verify: all are right' "$error$(field EntriesDone) $(field EntriesMismatched) $(field EntriesMisowned) $(field FSGroup)" "$total 0 0 3000"
chgrp 7 "$T/d0/f1"
chmod g-w "$T/secret"
verify 'Depth s full'
is 'verify, full: some are not' "$error$(field EntriesMismatched) $(field EntriesMisowned)" '0 3'
like 'verify, full: they are named' "$reply" '"d0/f1"' 'bsa{sv} false'
is 'verify, full: complete it is no more' "$(property live OwnershipState) $(property live LabelState)" '"unknown" "complete"'
mark_says 'verify, full: the volume says so too' "$T" ' ownership=unknown gid=0 ' ' label=complete '
unmount_volume live "$T"
mount_service s0:c1 live $source "$T" 'FSGroup u 3000'
gives 'what was found is remembered' walked unknown
is 'what was found is remembered: labels are still known' "$(field Relabel)" skipped
all_owned 'and mended' "$T" 3000
unmount_volume live "$T"
# most files with another group: root /verify/group; the record afterwards: bus /ownership/verify
# The next mount is a mapped one.
mount_service s0:c1 live $source "$T" 'FSGroup u 5000'
gives 'a mapped mount' mapped other-group
verify 'Depth s full'
is 'verify, a mapped mount: all are right' "$error$(field EntriesMisowned) $(field FSGroup)" '0 5000'
chgrp 7 "$T/d0/f1"
verify 'Depth s full'
is 'verify, a mapped mount: one is not' "$error$(field EntriesMisowned) $(property live OwnershipState)" '1 "unknown"'
unmount_volume live "$T"
mount_service s0:c1 live $source "$T" 'FSGroup u 5000'
gives 'verify, a mapped mount: the next one walks' walked unknown
all_owned 'verify, a mapped mount: and all have the group' "$T" 5000
unmount_volume live "$T"

# ---- AdoptVolume -------------------------------------------------------------------------------------------

mount $source "$T"
volume_call AdoptVolume 'ssa{sv}' live "$T" -- 'FSGroup u 5000'
gives 'adopted: has the group' skipped complete
unmount_volume live "$T"
mount $source "$T"
volume_call AdoptVolume 'ssa{sv}' live "$T" -- 'FSGroup u 6000'
gives 'adopted: has another group' walked mounted
all_owned 'adopted: has it now' "$T" 6000
unmount_volume live "$T"

# ---- journal, history and metrics --------------------------------------------------------------------------

mount_group 6000 live $source "$T" && unmount_volume live "$T"
mount_group 8000 live $source "$T" && unmount_volume live "$T"
mount_group 8000 live $source "$T" "$policy_always" && unmount_volume live "$T"
told() { # NAME MESSAGE_ID FIELD...
    journal_has "the journal: $1" SELVOL_VOLUME=live MESSAGE_ID=$2
    like "the journal: $1: its fields" "$(journal SELVOL_VOLUME=live MESSAGE_ID=$2)" "${@:3}"
}
told 'walked' def1f13af4534a338401ed3b1a41ab28 SELVOL_FS_GROUP=8000 SELVOL_OWNERSHIP=walk SELVOL_OWNERSHIP_REASON=policy-always \
    SELVOL_ENTRIES=$total SELVOL_ENTRIES_CHANGED= SELVOL_OPERATION=mount SELVOL_RESULT=done
told 'skipped' a9e220dfdb82473597bc03288810cf7e SELVOL_FS_GROUP=6000 SELVOL_OWNERSHIP=skip SELVOL_OWNERSHIP_REASON=complete
told 'mapped' 017a025753b343b9beb6c49ac458e27f SELVOL_FS_GROUP=8000 SELVOL_OWNERSHIP=map SELVOL_OWNERSHIP_REASON=other-group
told 'found to be wrong' ca4bc256f440452789c93131cb1d70b6 PRIORITY=
mount $source /mnt
chattr +i /mnt/secret
umount /mnt
mount_group 9000 live $source "$T" "$policy_always"
told 'failed' f3b3b422246040cdb0a2d2f5d1ce6874 SELVOL_FS_GROUP=9000 SELVOL_RESULT=EntriesFailed PRIORITY=4
mount $source /mnt && chattr -i /mnt/secret && umount /mnt
like 'journalctl -x explains it' "$(journalctl -q -x -n 1 MESSAGE_ID=017a025753b343b9beb6c49ac458e27f)" group 8000
journalctl --sync
like 'the history' "$(selvolctl history live -n 1000)" ' to 8000. ' ' to 3000. '

metrics=$(metrics)
like 'metrics: outcomes' "$metrics" 'selvol_ownership_total{outcome="skipped",reason="complete"} ' \
    'selvol_ownership_total{outcome="mapped",reason="other-group"} ' 'selvol_ownership_total{outcome="walked",reason="policy-always"} ' \
    'selvol_ownership_total{outcome="failed",reason="policy-always"} ' 'selvol_ownership_entries_total{result="changed"} ' \
    selvol_ownership_duration_seconds_count
like 'metrics: the name that kubelet has for it' "$(grep '^storage_operation_duration_seconds_count\|storage_operation_duration_seconds_count' <<<"$metrics")" \
    'operation_name="volume_apply_access_control"' 'status="success"' 'status="fail-unknown"' 'volume_plugin="kubernetes.io/csi"'
clean live
