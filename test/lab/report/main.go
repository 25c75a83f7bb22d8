// Command report makes test/lab/results/traffic.md of the figures that scenarios of
// the lab have left in a folder: one table for each group of scenarios. It puts a
// picture of each scenario beside its figures, and the pictures that the page shows
// beside the page. It writes no figure that was not measured.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

func main() {
	from := flag.String("from", "bin/lab", "folder with the figures, as JSON")
	to := flag.String("to", "test/lab/results", "folder of the page and of the pictures that it shows")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	all, err := read(from)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return fmt.Errorf("no figures in %s; run make lab first", from)
	}
	old, err := filepath.Glob(filepath.Join(to, "traffic-*.svg"))
	if err != nil {
		return err
	}
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	for _, f := range all {
		if f.Requests == 0 {
			continue
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(from, picture(f)), []byte(f.Picture()), 0o644))
		if shown(f) {
			err = errors.Join(err, os.WriteFile(filepath.Join(to, picture(f)), []byte(f.Picture()), 0o644))
		}
	}
	return errors.Join(err, os.WriteFile(filepath.Join(to, "traffic.md"), []byte(page(all, machine())), 0o644))
}

// read returns the figures in the order in which their scenarios began.
func read(dir string) ([]traffic.Figures, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []traffic.Figures
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var f traffic.Figures
		if err := json.Unmarshal(data, &f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, f)
	}
	slices.SortStableFunc(all, func(a, b traffic.Figures) int { return a.Began.Compare(b.Began) })
	return all, nil
}

// shown reports whether the page shows the picture of the scenario: only those two
// that compare the daemon with a polling loop. The others are for people who study a
// run.
func shown(f traffic.Figures) bool {
	return (f.Scenario == "crash/daemon" || f.Scenario == "crash/poller") && f.Requests > 0
}

// picture is the name of the scenario's picture.
func picture(f traffic.Figures) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, f.Scenario)
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return "traffic-" + strings.Trim(name, "-") + ".svg"
}
