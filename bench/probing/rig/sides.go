package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
)

// side starts the processes that check the backends, in an empty folder. The first
// process is the one that is measured.
func side(ctx context.Context, c probing.Case, dir string) ([]*process, error) {
	switch c.Side {
	case probing.Daemon, probing.Holding:
		return daemon(ctx, c, dir)
	case probing.Blackbox:
		return blackbox(ctx, c, dir)
	case probing.Prober, probing.Plain, probing.Holder:
		name := map[probing.Side]string{probing.Prober: "probe", probing.Plain: "plain", probing.Holder: "hold"}[c.Side]
		p, err := part(ctx, name, c)
		if err != nil {
			return nil, err
		}
		p.cmd.Dir = dir
		return []*process{p}, p.start()
	}
	return nil, fmt.Errorf("there is no side %q", c.Side)
}

// daemon runs the built program with its defaults where there are some. It has few
// slices, because the store in memory prints all of them at each write.
func daemon(ctx context.Context, c probing.Case, dir string) ([]*process, error) {
	type node struct {
		Name    string `json:"name"`
		Address string `json:"private_ip"`
		Ready   bool   `json:"ready"`
		Worker  bool   `json:"worker"`
	}
	nodes := make([]node, c.Backends)
	for i := range nodes {
		nodes[i] = node{fmt.Sprintf("n%d", i), c.Address(i).String(), true, true}
	}
	inventory, err := json.Marshal(nodes)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "inventory.json")
	if err := os.WriteFile(path, inventory, 0o600); err != nil {
		return nil, err
	}
	p := command(ctx, c.Daemon)
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LOG_LEVEL=warn",
		"SOURCE_KIND=file", "INVENTORY_FILE_PATH=" + path, "STORE_KIND=memory", "MAX_ENDPOINTS_PER_SLICE=1000",
		"SECURED_SUBNET_CIDR=10.64.0.0/11",
		"TARGET_SERVICE_NAME=web", fmt.Sprintf("TARGET_PORT=%d", probing.Port),
		"HEALTH_CHECK_MODE=" + string(c.Mode), fmt.Sprintf("HEALTH_CHECK_HOLD_CONNECTION=%t", c.Side == probing.Holding),
		"HEALTH_CHECK_INTERVAL=" + probing.Interval.String(), "HEALTH_CHECK_TIMEOUT=" + probing.Timeout.String(),
	}
	return []*process{p}, p.start()
}

// modules are those of blackbox_exporter: one request over IPv4 that follows
// nothing, as ours.
const modules = `modules:
  http:
    prober: http
    timeout: %[1]s
    http: {preferred_ip_protocol: ip4, ip_protocol_fallback: false, follow_redirects: false}
  tcp:
    prober: tcp
    timeout: %[1]s
    tcp: {preferred_ip_protocol: ip4, ip_protocol_fallback: false}
`

// blackbox runs blackbox_exporter and the program that asks it.
func blackbox(ctx context.Context, c probing.Case, dir string) ([]*process, error) {
	path := filepath.Join(dir, "blackbox.yml")
	if err := os.WriteFile(path, fmt.Appendf(nil, modules, probing.Timeout), 0o600); err != nil {
		return nil, err
	}
	exporter := command(ctx, c.Blackbox, "--config.file="+path, "--log.level=warn",
		fmt.Sprintf("--web.listen-address=127.0.0.1:%d", pollPort))
	if err := exporter.start(); err != nil {
		return nil, err
	}
	poller, err := part(ctx, "poll", c)
	if err != nil {
		return nil, err
	}
	return []*process{exporter, poller}, poller.start()
}
