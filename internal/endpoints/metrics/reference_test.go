package metrics_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/golden"
)

//go:generate go test . -run TestTheReferenceOfMetricsIsUpToDate -update

func TestTheReferenceOfMetricsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "..", "docs", "reference", "metrics.md")
	want := reference()
	golden.Check(t, path, want, "go generate ./internal/endpoints/metrics")
}

// reference returns docs/reference/metrics.md.
func reference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/endpoints/metrics by "go generate ./internal/endpoints/metrics". Do not edit. -->

# Metrics

They are served at ` + "`/metrics` of `METRICS_ADDRESS`" + `, as text or OpenMetrics. The values of each label are a closed list, except for the names of pools and Services; no metric names a node or an address. A value that can occur is there from the start, with 0, unless its meaning says otherwise. The series of a pool or a Service begin when documents and Services were first read. Up to 1,000 Services have series of their own. Where there are more, those with a problem have them, at most 1,000.

Where variables set up the only pool, it is called ` + "`remote`. The settings in the tables are those of its document; `config show -o documents`" + ` prints it.

`)
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range metrics.Families() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, labels(f), f.Help)
	}
	b.WriteString(`
## Queries to begin with

| query | its answer |
|---|---|
`)
	for _, f := range metrics.Families() {
		begin := begins[strings.TrimPrefix(f.Name, "ionos_endpointslice_")]
		fmt.Fprintf(&b, "| `%s` | %s |\n", begin.query, begin.advice)
	}
	b.WriteString(`
## Values of the labels

Where the same label has other values in several metrics, the first column names the metric.

| label | values |
|---|---|
`)
	for _, row := range labelValues(metrics.Families()) {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString(`
The credential ` + "`kubeconfig`" + ` is the token or the client certificate for the remote cluster, whichever expires sooner. The pools of one account of the IONOS Cloud share its rate limit.

## States of a Service

| state | means |
|---|---|
`)
	for _, s := range []assign.State{assign.Active, assign.Leaving, assign.Draining, assign.Kept, assign.Emptied} {
		fmt.Fprintf(&b, "| `%s` | %s |\n", s, states[s])
	}
	b.WriteString(`
## Problems of a Service

| kind | means |
|---|---|
`)
	for _, name := range metrics.Problems() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, means[name])
	}
	b.WriteString(`
## Go, the process, and standbys

Go and the process report themselves in addition: ` + "`go_*`, `process_*`" + ` (memory, goroutines, processor time, open files), and ` + "`promhttp_metric_handler_errors_total{cause}`" + ` counts scrapes that could not be answered in full.

A standby of a leader election has ` + "`ionos_endpointslice_leader` 0" + `: it reads, checks and publishes nothing, so its figures of endpoints and reads are 0. Ask only the leader, for example:

` + "```promql" + `
sum by (instance, job) (ionos_endpointslice_endpoints{state="ready"}) == 0 and on (instance, job) ionos_endpointslice_leader == 1
` + "```" + `
`)
	return b.String()
}

// labels names the labels of a family.
func labels(f metrics.Family) string {
	words := make([]string, len(f.Labels))
	for i, l := range f.Labels {
		words[i] = "`" + l.Name + "`"
	}
	return strings.Join(words, ", ")
}

// labelValues describes the values of each label, once for all families that have the same.
func labelValues(families []metrics.Family) (rows [][2]string) {
	described := map[string][]string{} // of a label, every description
	first := map[[2]string]string{}    // of a label and a description, the first family
	var names []string
	for _, f := range families {
		for _, l := range f.Labels {
			note := l.Note
			switch {
			case note != "":
			case len(l.Values) > 10:
				note = "one of the [problems](#problems-of-a-service)"
			default:
				note = "`" + strings.Join(l.Values, "`, `") + "`"
			}
			if described[l.Name] == nil {
				names = append(names, l.Name)
			}
			if !slices.Contains(described[l.Name], note) {
				described[l.Name] = append(described[l.Name], note)
				first[[2]string{l.Name, note}] = f.Name
			}
		}
	}
	for _, name := range names {
		for _, note := range described[name] {
			label := "`" + name + "`"
			if len(described[name]) > 1 {
				label += " of `" + first[[2]string{name, note}] + "`"
			}
			rows = append(rows, [2]string{label, note})
		}
	}
	return rows
}

// states explains the states of Services.
var states = map[assign.State]string{
	assign.Active:   "filled as its document or annotation says",
	assign.Leaving:  "its document or annotation is gone: it is filled until `spec.releaseAfter` is over, or others take over",
	assign.Draining: "its endpoints drain, because others took over",
	assign.Kept:     "too many Services vanished at once, or not everything could be read: it stays filled",
	assign.Emptied:  "its slices are being emptied",
}

// begins has for each metric a query to begin with, and what its answer means.
var begins = map[string]struct{ query, advice string }{
	"build_info":                            {"count by (version) (ionos_endpointslice_build_info)", "which versions run"},
	"leader":                                {"sum by (job) (ionos_endpointslice_leader) != 1", "no replica leads, or two do"},
	"loop_age_seconds":                      {"ionos_endpointslice_loop_age_seconds > 10", "the loop hangs; at 30 seconds `/livez` fails"},
	"events_total":                          {`increase(ionos_endpointslice_events_total{result!="delivered"}[1h])`, "the log still says what happened; check the right to create Events"},
	"assignments_total":                     {"ionos_endpointslice_assignments_total == 0 and ionos_endpointslice_leader == 1", "the documents, or the Services and slices of a namespace, were not read yet"},
	"documents":                             {`ionos_endpointslice_documents{state!="current"} > 0`, "correct the file; `check --only documents` says what is wrong"},
	"document_mistakes":                     {"ionos_endpointslice_document_mistakes > 0", "the log and `check --only documents` name each, with file, line, field, rule and remedy"},
	"documents_generation":                  {"changes(ionos_endpointslice_documents_generation[1h])", "when documents changed"},
	"documents_last_good_timestamp_seconds": {"time() - ionos_endpointslice_documents_last_good_timestamp_seconds", "for how long documents have been wrong, or could not be read"},
	"statuses_refused":                      {"ionos_endpointslice_statuses_refused > 0", "`status` names one of them, with the words of the API server; everything else goes on"},
	"services":                              {`ionos_endpointslice_services{state="kept"} > 0`, "bring the documents back, or do what the log says"},
	"services_with_problem":                 {"ionos_endpointslice_services_with_problem > 0", "`ionos_endpointslice_service_problem` names them"},
	"services_unlisted":                     {"ionos_endpointslice_services_unlisted", "`ionos_endpointslice_services` and `ionos_endpointslice_services_with_problem` count these too"},
	"services_without_pool":                 {"ionos_endpointslice_services_without_pool > 0", "the log names them: bring the document of the pool back, or delete the slices"},
	"service_endpoints":                     {"ionos_endpointslice_service_endpoints == 0", "`ionos_endpointslice_service_problem` says why"},
	"service_ready_endpoints":               {"ionos_endpointslice_service_ready_endpoints / ionos_endpointslice_service_endpoints < 0.5", "most of the endpoints get no traffic"},
	"service_pending_slices":                {"min_over_time(ionos_endpointslice_service_pending_slices[2m]) > 0", "writes do not get through"},
	"service_problem":                       {"ionos_endpointslice_service_problem == 1", "the Event on the Service and the log say what to do"},
	"pool_services":                         {"ionos_endpointslice_pool_services == 0", "the pool is not used"},
	"pool_problem":                          {"ionos_endpointslice_pool_problem == 1", "the log names the error"},
	"source_reads_total":                    {`rate(ionos_endpointslice_source_reads_total{result="error"}[10m]) > 0`, "a failed read changes no endpoint; the log names the error"},
	"source_last_read_success_timestamp_seconds": {"time() - ionos_endpointslice_source_last_read_success_timestamp_seconds", "the age of what is known of the nodes of the pool"},
	"nodes":                                     {"ionos_endpointslice_nodes", "compare it with the remote cluster"},
	"not_eligible":                              {"ionos_endpointslice_not_eligible > 0", "why nodes of the pool are not published"},
	"source_warnings":                           {"ionos_endpointslice_source_warnings > 0", "`check` prints them"},
	"placed_nodes":                              {"ionos_endpointslice_placed_nodes", "compare it with the Pods of the remote Services"},
	"placement_problem":                         {"ionos_endpointslice_placement_problem > 0", "`status` and the log say why; look at the remote Service, its Pods and the right to watch them"},
	"endpoints_reached_elsewhere":               {"ionos_endpointslice_endpoints_reached_elsewhere > 0", "`status` names the replica; check the network of the node of the leader"},
	"rejected_inventories":                      {"ionos_endpointslice_rejected_inventories > 0", "endpoints that they leave out stay as long as they pass; check the source before `spec.guard.emptyResultThreshold` of them"},
	"removals_pending":                          {"ionos_endpointslice_removals_pending > 0", "repair the source before `ionos_endpointslice_removals_pending_inventories` more of them have come"},
	"removals_pending_inventories":              {"ionos_endpointslice_removals_pending_inventories and ionos_endpointslice_removals_pending > 0", "times `spec.pollInterval`, the time that is left"},
	"removals_accepted_total":                   {"increase(ionos_endpointslice_removals_accepted_total[1d]) > 0", "the Event `RemovalAccepted` and the log name them; check whether these nodes are really gone"},
	"health_check_groups":                       {`ionos_endpointslice_health_check_groups{mode!="Publish"} > 0`, "`Hold` keeps endpoints that would leave; `FailOpen` publishes all because no endpoint passes; the log names the cause"},
	"endpoints":                                 {`ionos_endpointslice_endpoints{state="down"} > 0`, "endpoints that get no traffic"},
	"endpoint_changes_total":                    {`increase(ionos_endpointslice_endpoint_changes_total{state="down"}[1h])`, "how often endpoints went down in the last hour"},
	"health_checks_total":                       {`rate(ionos_endpointslice_health_checks_total{outcome="LocalError"}[5m]) > 0`, "this machine could not carry out the checks, so they do not count; see `ionos_endpointslice_endpoints_unchecked`"},
	"endpoints_unchecked":                       {"ionos_endpointslice_endpoints_unchecked > 0", "they keep their state, dead or not; the log names the error, or use fewer different checks"},
	"health_check_round_overruns_total":         {"increase(ionos_endpointslice_health_check_round_overruns_total[10m]) > 0", "raise `spec.healthCheck.interval` or `HEALTH_CHECK_CONCURRENCY`, or lower `spec.healthCheck.timeout`"},
	"connections_held":                          {"ionos_endpointslice_connections_held < ionos_endpointslice_connections_wanted", "these endpoints close idle connections, or there are too few file descriptors"},
	"connections_wanted":                        {"ionos_endpointslice_connections_wanted", "compare it with `ionos_endpointslice_connections_held`"},
	"connections_lost_total":                    {"rate(ionos_endpointslice_connections_lost_total[10m])", "many without a confirmation: the endpoints close idle connections, which costs a check each"},
	"connections_lost_ignored_total":            {"increase(ionos_endpointslice_connections_lost_ignored_total[1h]) > 0", "a firewall was flushed or the network failed for a moment; the regular checks went on"},
	"connections_lost_confirmed_total":          {"rate(ionos_endpointslice_connections_lost_confirmed_total[1h])", "crashes that were seen by the lost connection"},
	"source_rate_limit_remaining":               {"ionos_endpointslice_source_rate_limit_remaining < 10", "raise `spec.pollInterval`, or find out what else uses the limit of the account"},
	"credential_expiry_timestamp_seconds":       {"ionos_endpointslice_credential_expiry_timestamp_seconds - time() < 14 * 86400", "write a new token or kubeconfig to its file; it is used without a restart"},
	"credential_lifetime_seconds":               {"ionos_endpointslice_credential_lifetime_seconds < 2 * 86400", "something renews it; the alert waits for the last tenth of its lifetime"},
	"source_read_duration_seconds":              {"histogram_quantile(0.99, rate(ionos_endpointslice_source_read_duration_seconds_bucket[30m]))", "keep it well below `SOURCE_TIMEOUT`"},
	"health_check_duration_seconds":             {"histogram_quantile(0.99, rate(ionos_endpointslice_health_check_duration_seconds_bucket[10m]))", "keep it well below `HEALTH_CHECK_TIMEOUT`"},
	"writes_total":                              {`rate(ionos_endpointslice_writes_total{result="error"}[5m]) > 0`, "the log names the error; many conflicts mean that another client writes the slices"},
	"write_duration_seconds":                    {"histogram_quantile(0.99, rate(ionos_endpointslice_write_duration_seconds_bucket[10m]))", "the local API server is slow if it stays above a second"},
	"store_errors_total":                        {"rate(ionos_endpointslice_store_errors_total[5m]) > 0", "the local API server does not answer, or refuses"},
	"local_credential_expiry_timestamp_seconds": {"ionos_endpointslice_local_credential_expiry_timestamp_seconds - time() < 14 * 86400", "renew it, unless something else does; the new one is used without a restart"},
	"local_credential_lifetime_seconds":         {"ionos_endpointslice_local_credential_lifetime_seconds < 2 * 86400", "something renews it; the alert waits for the last tenth of its lifetime"},
	"rest_client_requests_total":                {`sum by (client, code) (rate(rest_client_requests_total{code!~"2.."}[5m]))`, "requests that are refused or not answered"},
}

// means explains everything that may be wrong with a Service.
var means = map[string]string{
	"ServiceMissing":            "there is no such Service; its slices stay as they are",
	"ServiceDeleting":           "the Service is being deleted",
	"ServiceHasSelector":        "the Service has a selector, so Kubernetes manages its endpoints itself",
	"ServiceExternalName":       "the Service is of type ExternalName, which has no endpoints",
	"PortMismatch":              "the Service has no port that fits",
	"Invalid":                   "its annotations, its binding or the document of its pool are not valid; the published endpoints stay",
	"PoolNotAllowed":            "its namespace may not use a pool of that name, or there is none",
	"PortNotAllowed":            "the pool does not allow its namespace a port",
	"RemoteNamespaceNotAllowed": "the pool does not let its namespace follow Services of that remote namespace",
	"LimitReached":              "its namespace, or the controller, has as many Services or checks as there may be",
	"HealthCheckPortAmbiguous":  "it is not clear which port to check",
	"SliceOwnedByOther":         "a slice has a name that the daemon would use, and belongs to another program or Service",
	"StoreUnavailable":          "the Service and its slices cannot be read, or what is known of them may be out of date",
	"StoreStale":                "the same, because their watch is refused or silent and not because a single read failed",
	"WriteFailed":               "the last write of a slice failed; it is tried again",
	"Pending":                   "slices have differed for a minute from what was decided",
	"NoEndpointReady":           "no endpoint in its slices is ready",
	"FailOpen":                  "no endpoint passes its health check, and all that stay are published ready",
	"Defect":                    "a defect of the program stopped the Service; its slices stay as they are until it is tried again",
	"NotFilled":                 "the Service cannot be filled at all, for example because another one has the names of its slices",
	"Waiting":                   "a new port, health check or pool is not ready, so the old endpoints stay",
	"TakesOverWithLess":         "of the new endpoints too few pass, so the old ones stay",
	"Releasing":                 "its binding, its annotation or its pool is gone, or replaced: its slices are emptied later",
	"ManyReleased":              "the same, but too many Services vanished at once or not everything could be read: its endpoints stay",
}

// The reference speaks of what is served: every family with its type, help and
// labels, and no other.
func TestTheReferenceListsWhatIsServed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2)
		w.during(time.Minute)
		served, err := w.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		// They are there only where they say something.
		absent := []string{"source_rate_limit_remaining", "not_eligible", "service_problem"}
		type shape struct{ Type, Help, Labels string }
		got, want := map[string]shape{}, map[string]shape{}
		for _, f := range served {
			if ours := strings.HasPrefix(f.GetName(), "ionos_endpointslice_"); !ours {
				continue
			}
			s := shape{Type: strings.ToLower(f.GetType().String()), Help: f.GetHelp()}
			for _, l := range f.GetMetric()[0].GetLabel() {
				s.Labels += l.GetName() + " "
			}
			got[f.GetName()] = s
		}
		for _, f := range metrics.Families() {
			if _, ok := got[f.Name]; !ok && (strings.Contains(f.Name, "credential_") || slices.Contains(absent, strings.TrimPrefix(f.Name, "ionos_endpointslice_")) || strings.HasPrefix(f.Name, "rest_")) {
				continue
			}
			s := shape{Type: string(f.Type), Help: f.Help}
			names := map[string]bool{}
			for _, l := range f.Labels {
				names[l.Name] = true
			}
			for _, name := range []string{"client", "code", "goversion", "kind", "method", "mode", "operation", "outcome", "pool", "reason", "result", "source", "state", "target_namespace", "target_service", "version"} {
				if names[name] {
					s.Labels += name + " "
				}
			}
			want[f.Name] = s
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("families (-reference +served):\n%s", diff)
		}
	})
}

func TestEveryFamilySaysWhatToDo(t *testing.T) {
	if problems := metrics.Problems(); len(means) != len(problems) || slices.ContainsFunc(problems, func(p string) bool { return means[p] == "" }) {
		t.Errorf("got the problems %q, and %d that are explained", problems, len(means))
	}
	if got, want := len(begins), len(metrics.Families()); got != want {
		t.Errorf("got %d queries to begin with, want %d", got, want)
	}
	seen := map[string]bool{}
	for _, f := range metrics.Families() {
		if seen[f.Name] {
			t.Errorf("%s stands there twice", f.Name)
		}
		seen[f.Name] = true
		begin := begins[strings.TrimPrefix(f.Name, "ionos_endpointslice_")]
		if f.Help == "" || begin.advice == "" || !strings.Contains(begin.query, f.Name) || strings.ContainsAny(f.Help+begin.query+begin.advice, "|\n") {
			t.Errorf("%s: got %q, %q, %q; want a sentence, a query with its name and what that means, fit for a table", f.Name, f.Help, begin.query, begin.advice)
		}
	}
}

// TestContract215NamesOfMetricsSayOneWordForOneThing: the pool is in the label, and the old words
// are in no name that stays.
func TestContract215NamesOfMetricsSayOneWordForOneThing(t *testing.T) {
	about := []string{"ionos_endpointslice_pool_services", "ionos_endpointslice_pool_problem"}
	gauges := make(map[string]bool)
	for _, f := range metrics.Families() {
		gauges[f.Name] = true
	}
	for _, f := range metrics.Families() {
		if counted := strings.TrimSuffix(f.Name, "_total"); counted != f.Name && gauges[counted] {
			t.Errorf("%s: is %s in OpenMetrics, as another one is", f.Name, counted)
		}
		if strings.Contains(f.Name, "_pool_") && !slices.Contains(about, f.Name) {
			t.Errorf("%s: the label pool says it", f.Name)
		}
		for _, word := range []string{"member", "candidate", "suspect", "probe", "target", "alarm", "ratelimit", "plan", "token"} {
			if strings.Contains(f.Name, word) {
				t.Errorf("%s: is called after a %s, want the word of the texts", f.Name, word)
			}
		}
	}
}

// constants returns the values of the constants of a type in a file; of numbers
// their names.
func constants(t *testing.T, file, typeName string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, declaration := range parsed.Decls {
		general, ok := declaration.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		current := ""
		for _, spec := range general.Specs {
			value := spec.(*ast.ValueSpec)
			if name, ok := value.Type.(*ast.Ident); ok {
				current = name.Name
			}
			if current != typeName {
				continue
			}
			text := value.Names[0].Name
			if len(value.Values) == 1 {
				if literal, ok := value.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, _ = strconv.Unquote(literal.Value)
				}
			}
			found = append(found, text)
		}
	}
	return found
}
