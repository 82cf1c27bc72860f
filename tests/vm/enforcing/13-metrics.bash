# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck disable=SC2154,SC2086,SC2016,SC2034 # of lib.bash; words; for eval
# The metrics reach Debian's Prometheus in the two ways of selvol-metrics(7). The test runs the commands of that page.

wait_for answers_calls
T=$pods/metrics/v
mkdir -p "$T"
mount_with s0:c1,c2 metrics none "$T" 'FSType s tmpfs'
textfile=/run/selvold/selvol.prom

# query EXPRESSION: prints the number that Prometheus has; encodes only {, } and " for the URL
query() {
    local path="/api/v1/query?query=$1"
    path=${path//\{/%7B} path=${path//\}/%7D} path=${path//\"/%22}
    fetch 9090 "$path" | jq -r '.data.result[].value[1]'
}
has_value() { [[ $(query "$1") == "$2" ]]; }

soon 'the file has the holder' grep -qx 'selvol_holders 1' $textfile
is 'the file: owner and mode' "$(stat -c '%U %a' $textfile)" 'selvol 644'
is 'the file: its type' "$(stat -c %C $textfile | cut -d: -f3)" selvold_runtime_t
yes 'the file: another user reads it' setpriv --reuid prometheus --clear-groups cat $textfile

is 'HTTP: off by default' "$(systemctl is-enabled selvol-metrics.socket)" disabled
no 'HTTP: nobody listens' fetch 24810 /metrics
yes 'HTTP: it is turned on' systemctl enable -q --now selvol-metrics.socket
soon 'HTTP: metrics' eval 'fetch 24810 /metrics | grep -qx "selvol_holders 1"'
no 'HTTP: nothing else' fetch 24810 /
pid=$(main_pid selvol-metrics)
is 'HTTP: its domain' "$(ps -o label= -p "$pid" | cut -d: -f3)" selvol_metrics_t
uid=$(stat -c %u "/proc/$pid")
is 'HTTP: its user is a dynamic one' "$((uid >= 61184 && uid <= 65519))" 1
is 'HTTP: no capability' "$(sed -n 's/^CapBnd:\t//p' "/proc/$pid/status")" 0000000000000000
is 'HTTP: a network of its own' "$([[ $(readlink "/proc/$pid/ns/net") != "$(readlink /proc/1/ns/net)" ]] && echo own)" own

# Prometheus by HTTP, and by way of node_exporter.
ln -s $textfile /var/lib/prometheus/node-exporter/
cat >/etc/prometheus/prometheus.yml <<'YML'
global:
  scrape_interval: 2s
  evaluation_interval: 2s
rule_files:
  - /usr/share/selvol/monitoring/selvol.rules.yml
scrape_configs:
  - job_name: selvol
    static_configs:
      - targets: ['localhost:24810']
  # The other collectors of node_exporter take seconds under emulation.
  - job_name: node
    params: {'collect[]': [textfile]}
    scrape_interval: 10s
    static_configs:
      - targets: ['localhost:9100']
YML
yes 'prometheus starts' systemctl start prometheus-node-exporter prometheus
soon 'prometheus scrapes selvol-metrics' has_value 'selvol_holders{job="selvol"}' 1
soon 'prometheus scrapes node_exporter' has_value 'selvol_holders{job="node"}' 1
# On a busy machine a scrape may be late, and Prometheus shows its values only after the next one.
soon 'node_exporter has read the file' has_value 'node_textfile_scrape_error' 0
soon 'SELinux is enforcing' has_value 'selvol_selinux_enforcing{job="selvol"}' 1
soon 'the mount was counted' has_value 'selvol_decisions_total{job="node",strategy="context-mount",reason="context-mount"}' \
    "$(counter 'selvol_decisions_total{strategy="context-mount",reason="context-mount"}')"
like 'prometheus has the rules' "$(fetch 9090 /api/v1/rules)" SelvolDown SelvolNotEnforcing '"health":"ok"'
alerts=$(fetch 9090 /api/v1/alerts)
like 'prometheus evaluates them' "$alerts" '"status":"success"'
unlike 'no alert is about to fire' "$alerts" '"state":'

# Prometheus does not go on with old values after selvold has stopped.
systemctl stop selvold
no 'stopped: the file is gone' test -e $textfile
soon 'stopped: prometheus sees it' has_value 'up{job="selvol"}' 0
systemctl start selvold
soon 'started: prometheus sees it' has_value 'selvol_holders{job="selvol"}' 1

# The metrics go to another directory, by the commands of the page.
install -d -o selvol /var/lib/selvol-metrics
chcon -t selvold_runtime_t /var/lib/selvol-metrics
mkdir -p /run/systemd/system/selvold.service.d
printf '[Service]\nReadWritePaths=/var/lib/selvol-metrics\n' >/run/systemd/system/selvold.service.d/metrics.conf
systemctl daemon-reload
bring_up restart selvold
configure '[Service]\nMetricsTextfile=/var/lib/selvol-metrics/selvol.prom'
soon 'another directory' grep -qx 'selvol_holders 1' /var/lib/selvol-metrics/selvol.prom
configure '[Service]\nMetricsTextfile=/usr/selvol.prom'
soon 'a directory that it may not write to: the status says so' \
    eval "systemctl status selvold | grep -q '/usr/selvol.prom: Read-only file system. selvold.service may write to /run/selvold'"
is 'and it is counted' "$(counter selvol_textfile_errors_total | grep -c '^[1-9]')" 1

configure
rm -r /run/systemd/system/selvold.service.d /var/lib/selvol-metrics /var/lib/prometheus/node-exporter/selvol.prom
systemctl disable -q --now selvol-metrics.socket
systemctl stop selvol-metrics prometheus prometheus-node-exporter
systemctl daemon-reload
bring_up restart selvold
unmount_volume metrics "$T"
is 'no crash' "$(journalctl -q -b -o cat -u selvol-metrics | grep -ciE 'dumped core|segfault|status=')" 0
clean metrics
