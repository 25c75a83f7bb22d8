package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

const intro = `# Do the requests arrive?

Written by ` + "`make lab REPORT=1`" + `; do not edit.

Every row is a Service in a real cluster (kube-apiserver, etcd, kube-proxy in nftables mode) whose backends are machines of their own on a private network, kept up to date by the built daemon in its default configuration, except that it asks its source every 2 s. Clients open new connections at a constant rate, none of which waits for another. A request is *lost* when it fails in any way, is not answered with 200, or takes longer than a second. The long form (LONG=1) has the polling loop, 20 deaths of each kind with held connections, and the Pods that move behind a NodePort. [CONTRIBUTING.md](../../../CONTRIBUTING.md) says how to run it.

The pictures show the requests of each 100 ms: answered in green, lost in red on top. ` + "`make lab REPORT=1`" + ` leaves one of each scenario in ` + "`bin/lab`" + `; this page shows those of the deaths.
`

// titles name the groups of scenarios; the group stands before the slash. One
// that is not listed has its own name, after these.
func titles() [][2]string {
	return [][2]string{
		{"rotation", "Planned rotation, by each source"},
		{"changes", "Planned changes, restarts and outages"},
		{"crash", "A backend dies"},
		{"many", "Ten Services of one daemon"},
		{"envoy", "Through Envoy"},
		{"fleets", "Fleets of Envoys"},
		{"inventory", "A wrong inventory"},
		{"remote kube-proxy", "Pods behind a NodePort of the remote cluster"},
		{"soak", "Soak"},
	}
}

// machine says where the figures come from.
func machine() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	kernel := strings.TrimSpace(string(release))
	if err != nil {
		kernel = "unknown"
	}
	return fmt.Sprintf("Measured on %d cores, Linux %s, %s, on %s.", runtime.NumCPU(), kernel, runtime.Version(), time.Now().UTC().Format("2006-01-02"))
}

// page writes everything.
func page(all []traffic.Figures, machine string) string {
	var s strings.Builder
	s.WriteString(intro)
	fmt.Fprintf(&s, "\n%s %s\n", machine, total(all))
	for _, title := range sections(all) {
		section(&s, title[1], slices.DeleteFunc(slices.Clone(all), func(f traffic.Figures) bool { return group(f) != title[0] }))
	}
	return s.String()
}

func total(all []traffic.Figures) string {
	requests, lateness := 0, time.Duration(0)
	for _, f := range all {
		requests += f.Requests
		lateness = max(lateness, f.Lateness)
	}
	return fmt.Sprintf("In all %d requests; in every scenario 99 of 100 began at most %v later than their turn was.", requests, lateness.Round(time.Millisecond/10))
}

// group is what stands before the slash of the scenario's name.
func group(f traffic.Figures) string {
	name, _, _ := strings.Cut(f.Scenario, "/")
	return name
}

// sections returns the groups that have scenarios, with their titles.
func sections(all []traffic.Figures) [][2]string {
	var found [][2]string
	known := func(name string) bool {
		return slices.ContainsFunc(found, func(t [2]string) bool { return t[0] == name })
	}
	for _, t := range titles() {
		if slices.ContainsFunc(all, func(f traffic.Figures) bool { return group(f) == t[0] }) {
			found = append(found, t)
		}
	}
	for _, f := range all {
		if name := group(f); !known(name) {
			found = append(found, [2]string{name, strings.ToUpper(name[:1]) + name[1:]})
		}
	}
	return found
}

func section(s *strings.Builder, title string, figures []traffic.Figures) {
	fmt.Fprintf(s, "\n## %s\n\n| scenario | what happens | requests | lost | |\n|---|---|---:|---:|---|\n", title)
	for _, f := range figures {
		fmt.Fprintf(s, "| %s | %s | %d | %d | %s |\n", cell(name(f)), cell(f.Text), f.Requests, f.Lost, cell(facts(f)))
	}
	for _, f := range figures {
		if shown(f) {
			fmt.Fprintf(s, "\n**%s**\n\n![Requests over time: %s](%s)\n", name(f), name(f), picture(f))
		}
	}
}

// name is the scenario's without its group.
func name(f traffic.Figures) string {
	_, name, found := strings.Cut(f.Scenario, "/")
	if !found {
		return f.Scenario
	}
	return name
}

func facts(f traffic.Figures) string {
	var texts []string
	for _, fact := range f.Facts {
		texts = append(texts, fact.Name+": "+fact.Value)
	}
	return strings.Join(texts, "; ")
}

// cell keeps a text within a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}
