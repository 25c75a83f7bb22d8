package main

import (
	"fmt"
	"strings"
)

const endToEndIntro = `## From a node's change to the slice

The built program (source ` + "`kubernetes`, store `client-go`" + `) between two real API servers, one with the nodes and one with the Service, all on this machine. A node is 8 to 10 kB of JSON, as in a real cluster. A change is the condition Ready of one node, in turn Unknown and True.

%s- *Time* is from the moment in which the change was sent to the remote API server to the moment in which a watch on the local one tells of the written slice; *from the answer* leaves out what the first API server needed itself.
- *daemon* runs without health checks here, because the others have none. It writes a slice five times at once and then once a second, so the changes are spaced out, over several slices where there are several; bursts are written together.
- *bare* (bench/bare) is the least that a client-go informer needs: protobuf, all unused parts of a node stripped, unimportant updates passed over, up to 1,000 endpoints in a slice. It checks and remembers nothing.
- *poller* is ` + "`kubectl get nodes -o json` and `kubectl replace`" + `, without what a script would need between them. Its time is one cycle; the wait for the next cycle, half an interval on average, comes on top. CPU is that of kubectl.
- CPU is that of the side's own threads, less what it needs at rest. Requests are those in the audit logs of both API servers.
- *Events* are those on the Service that tell of the change. Nothing waits for them, and after 25 they are at most one in ten seconds.
- *Decisions* are passes over all members, those included that find nothing to do.

| nodes | side | median | p90 | max | from the answer | CPU | slice writes | reads | Events | decisions |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

const beatIntro = `
## Heartbeats and steady state

A heartbeat is a status update of a node that changes nothing but times: a kubelet sends one every five minutes. *Net* leaves out what the side needs at rest.

| nodes | side | CPU of a heartbeat, net | gross | writes | requests |
|---:|---|---:|---:|---:|---:|
`

const steadyIntro = `
In steady state everything is on: TCP checks of every node every 2 s, leader election, metrics, the status page, and 10 heartbeats a second.

| nodes | for | CPU, cores | checks a second | slice writes | Events | reads | watches opened | lease |
|---:|---:|---:|---:|---:|---:|---:|---:|---:|
`

const memoryIntro = `
## Memory

Resident bytes: of the daemon three seconds after its first sync and at the end of the steady state above; of the bare watcher after its changes and heartbeats.

| nodes | daemon, after start | steady | peak | bare watcher | peak |
|---:|---:|---:|---:|---:|---:|
`

const startIntro = `
## Start

From exec to the first write that a watch tells of, 3 nodes; and from exec to the last slice of all nodes.

| | median | max |
|---|---:|---:|
`

func presentEndToEnd(r results) part {
	var b strings.Builder
	fmt.Fprintf(&b, endToEndIntro, r.measuredOn())
	for _, n := range sizesOf(r, "Change", "daemon") {
		for _, side := range []string{"daemon", "bare", "poller"} {
			b.WriteString(changeRow(r, n, side))
		}
	}
	b.WriteString(beatIntro)
	for _, n := range sizesOf(r, "Heartbeat", "daemon") {
		for _, side := range []string{"daemon", "bare"} {
			name := at("Heartbeat", n, side)
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", number(float64(n)), side, duration(r.least(name, "cpu-ns/op")),
				duration(r.least(name, "gross-cpu-ns/op")), number(r.most(name, "writes")), number(r.most(name, "requests")))
		}
	}
	b.WriteString(steadyIntro)
	for _, n := range sizesOf(r, "Steady", "daemon") {
		v := func(unit string) float64 { return r.most(at("Steady", n, "daemon"), unit) }
		fmt.Fprintf(&b, "| %s | %s s | %.3f | %s | %s | %s | %s | %s | %s |\n", number(float64(n)), number(v("s")), v("cores"), number(v("checks/s")),
			number(v("writes")), number(v("events")), number(v("reads")), number(v("watches")), number(v("lease-requests")))
	}
	b.WriteString(memoryIntro + memoryRows(r) + startIntro + startRows(r))
	return part{prose: b.String(), targets: endToEndTargets(r)}
}

func changeRow(r results, n int, side string) string {
	name, cost := at("Change", n, side), at("ChangeCost", n, side)
	if !r.has(name) {
		return ""
	}
	answered, events, decisions := "–", "–", "–"
	if side != "poller" {
		answered, events = duration(r.quantile(name, "answered-ns/op", 0.5)), short(r.quantile(cost, "events/op", 0.5))
	}
	if side == "daemon" {
		decisions = short(r.quantile(cost, "decisions/op", 0.5))
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", number(float64(n)), side,
		duration(r.quantile(name, "ns/op", 0.5)), duration(r.quantile(name, "ns/op", 0.9)), duration(r.most(name, "ns/op")), answered,
		duration(r.quantile(cost, "cpu-ns/op", 0.5)), short(r.quantile(cost, "writes/op", 0.5)),
		short(r.quantile(cost, "local-reads/op", 0.5)+r.quantile(cost, "remote-requests/op", 0.5)), events, decisions)
}

func memoryRows(r results) string {
	var b strings.Builder
	for _, n := range sizesOf(r, "Steady", "daemon") {
		ours, bare := at("Steady", n, "daemon"), at("Memory", n, "bare")
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", number(float64(n)), size(r.most(ours, "first-resident-B")), size(r.most(ours, "resident-B")),
			size(r.most(ours, "peak-B")), size(r.most(bare, "resident-B")), size(r.most(bare, "peak-B")))
	}
	return b.String()
}

func startRows(r results) string {
	var b strings.Builder
	row := func(what, name string) {
		if r.has(name) {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", what, duration(r.quantile(name, "ns/op", 0.5)), duration(r.most(name, "ns/op")))
		}
	}
	row("first write, health check on", at("Start", 3, "daemon")+"/check=tcp")
	row("first write, health check off", at("Start", 3, "daemon")+"/check=off")
	for _, n := range sizesOf(r, "Sync", "daemon") {
		row(fmt.Sprintf("all of %s nodes", number(float64(n))), at("Sync", n, "daemon"))
		row(fmt.Sprintf("all of %s nodes, bare watcher", number(float64(n))), at("Sync", n, "bare"))
	}
	return b.String()
}
