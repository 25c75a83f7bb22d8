package monitoring_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// substitutes are what Grafana puts in place of the dashboard's variables.
var substitutes = strings.NewReplacer("$namespace", "edge", "$job", "controller")

// oldest is the schema of Grafana 11, which later ones bring up to date.
const oldest = 39

func TestTheDashboardIsOneThatGrafanaCanLoad(t *testing.T) {
	eachBoard(t, func(t *testing.T, of program, d dashboard) {
		if d.UID != of.uid || d.Title == "" {
			t.Errorf("got uid %q and title %q, want the uid %s that links name", d.UID, d.Title, of.uid)
		}
		if d.SchemaVersion < oldest {
			t.Errorf("got schema version %d, want at least %d", d.SchemaVersion, oldest)
		}
		var names []string
		for _, v := range d.Templating.List {
			names = append(names, v.Name)
		}
		if want := []string{"datasource", "namespace", "job"}; !slices.Equal(names, want) {
			t.Errorf("got variables %v, want %v", names, want)
		}
		seen := make(map[int]string)
		for _, p := range d.Panels {
			if other, taken := seen[p.ID]; taken || p.ID == 0 {
				t.Errorf("panel %q has the id %d of %q", p.Title, p.ID, other)
			}
			seen[p.ID] = p.Title
		}
	})
}

func TestTheDashboardHasItsRows(t *testing.T) {
	eachBoard(t, func(t *testing.T, of program, d dashboard) {
		var rows []string
		for _, p := range d.Panels {
			if p.Type == "row" {
				rows = append(rows, p.Title)
			}
		}
		if !slices.Equal(rows, of.rows) {
			t.Errorf("got rows %v, want %v", rows, of.rows)
		}
	})
}

func TestNoTwoPanelsOverlap(t *testing.T) {
	eachBoard(t, func(t *testing.T, _ program, d dashboard) {
		panels := d.Panels
		for i, a := range panels {
			if a.GridPos.W < 1 || a.GridPos.H < 1 || a.GridPos.X < 0 || a.GridPos.X+a.GridPos.W > 24 {
				t.Errorf("panel %q is not on the grid: %+v", a.Title, a.GridPos)
			}
			for _, b := range panels[:i] {
				p, q := a.GridPos, b.GridPos
				if p.X < q.X+q.W && q.X < p.X+p.W && p.Y < q.Y+q.H && q.Y < p.Y+p.H {
					t.Errorf("panels %q and %q overlap", b.Title, a.Title)
				}
			}
		}
	})
}

func TestEveryPanelExplainsItself(t *testing.T) {
	eachBoard(t, func(t *testing.T, _ program, d dashboard) {
		for _, p := range d.Panels {
			if p.Type == "row" {
				continue
			}
			defaults := p.FieldConfig.Defaults
			if p.Title == "" || p.Description == "" || defaults.Unit == "" || defaults.NoValue == "" || len(p.Targets) == 0 {
				t.Errorf("panel %q: got description %q, unit %q, text for no data %q, %d queries; want all", p.Title, p.Description, defaults.Unit, defaults.NoValue, len(p.Targets))
			}
			steps := defaults.Thresholds.Steps
			if len(steps) == 0 || steps[0].Value != nil {
				t.Errorf("panel %q: the first threshold has to be without a value", p.Title)
				continue
			}
			for i := 2; i < len(steps); i++ {
				if *steps[i].Value <= *steps[i-1].Value {
					t.Errorf("panel %q: thresholds do not rise", p.Title)
				}
			}
		}
	})
}

func TestEveryPanelAsksTheChosenInstallation(t *testing.T) {
	eachBoard(t, func(t *testing.T, _ program, d dashboard) {
		for _, p := range d.Panels {
			if want := (datasource{"prometheus", "${datasource}"}); p.Type != "row" && p.Datasource != want {
				t.Errorf("panel %q: got data source %v, want %v", p.Title, p.Datasource, want)
			}
			var ids []string
			for _, target := range p.Targets {
				if slices.Contains(ids, target.RefID) || target.Datasource != p.Datasource {
					t.Errorf("panel %q, query %s: twice, or of another data source", p.Title, target.RefID)
				}
				ids = append(ids, target.RefID)
				for _, s := range dissect(target.Expr).selectors {
					wanted := []matcher{{"namespace", "=", "$namespace"}, {"job", "=", "$job"}}
					switch {
					case s.metric == "endpoint_views_fleet_leader":
						continue // the operator is of no fleet
					case strings.HasPrefix(s.metric, fleetPrefix):
						wanted = []matcher{{"fleet_namespace", "=", "$namespace"}, {"fleet", "=", "$job"}}
					}
					for _, want := range wanted {
						if !slices.Contains(s.matchers, want) {
							t.Errorf("panel %q: %s is not limited by %v", p.Title, s.metric, want)
						}
					}
				}
			}
		}
	})
}

var legendLabel = regexp.MustCompile(`{{\s*([a-zA-Z_]+)\s*}}`)

func TestEveryPanelAsksForMetricsThatExist(t *testing.T) {
	eachBoard(t, func(t *testing.T, _ program, d dashboard) {
		c := known(t)
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				q := dissect(substitutes.Replace(target.Expr))
				for _, mistake := range c.mistakes(q) {
					t.Errorf("panel %q: %s", p.Title, mistake)
				}
				for _, use := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
					kept := len(q.groupings) == 0 && slices.Contains(targetLabels, use[1])
					if !kept && !slices.Contains(slices.Concat(q.grouped, q.made), use[1]) {
						t.Errorf("panel %q: the legend names %s, which %s does not keep", p.Title, use[1], target.Expr)
					}
				}
			}
		}
		for _, v := range d.Templating.List {
			if want := (datasource{"prometheus", "${datasource}"}); v.Type == "query" && v.Datasource != want {
				t.Errorf("variable %s: got data source %v, want %v", v.Name, v.Datasource, want)
			}
			for _, metric := range regexp.MustCompile(`(?:ionos|endpoint_views|envoy)_[a-z_]+`).FindAllString(v.Definition, -1) {
				if _, ok := c[metric]; !ok {
					t.Errorf("variable %s: there is no metric %s", v.Name, metric)
				}
			}
		}
	})
}

// TestEveryQueryOfTheDashboardIsValid lets promtool parse them as recording rules.
func TestEveryQueryOfTheDashboardIsValid(t *testing.T) {
	eachBoard(t, func(t *testing.T, _ program, d dashboard) {
		var recorded []map[string]string
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				recorded = append(recorded, map[string]string{"record": fmt.Sprintf("panel:%d:%s", p.ID, target.RefID), "expr": substitutes.Replace(target.Expr)})
			}
		}
		path := write(t, t.TempDir(), "dashboard.yaml", map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": recorded}}})
		promtool(t, "check", "rules", "--lint=all", "--lint-fatal", path)
	})
}

func TestEveryMetricOfTheProgramIsOnTheDashboard(t *testing.T) {
	eachBoard(t, func(t *testing.T, of program, d dashboard) {
		var shown []string
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				for _, s := range dissect(target.Expr).selectors {
					shown = append(shown, s.metric)
				}
			}
		}
		for name := range known(t) {
			ours := of.has(name)
			part := strings.HasSuffix(name, "_sum") || strings.HasSuffix(name, "_count")
			if ours && !part && !slices.Contains(shown, name) {
				t.Errorf("%s is not shown", name)
			}
		}
	})
}
